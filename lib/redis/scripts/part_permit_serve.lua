-- Stands behind part_line.lua and part_permit.lua. v: what the slots have, by MGET, which is kept
-- up to date here; nothing in it: it could not be read, and nobody is served.
--
-- wants: how many permits a place is for: the first two hex digits of its number.
local function wants(m)
    return math.max(1, tonumber(string.sub(m, 17, 18), 16) or 1)
end
-- pick: n slots that are free, reserved for nobody or `mine`, from number `from` on and around;
-- nil: there are not so many. Of a key that MGET says nothing of, EXISTS says whether it is of
-- another type.
local function pick(v, k, n, from, mine)
    local s = {}
    for i = 0, k - 1 do
        local j = (from + i) % k
        local w = v[j + 1]
        if w == 'reserved' or (w and w == mine) or
            (w == false and redis.pcall('exists', slot(j)) == 0) then
            s[#s + 1] = j
            if #s == n then return s end
        end
    end
end
local function reserve(v, s, p, ms)
    for i = 1, #s do
        redis.call('set', slot(s[i]), 'reserved:' .. p, 'PX', ms)
        v[s[i] + 1] = 'reserved:' .. p
    end
end
-- serve: as long as the first in line finds as many slots as it wants, it is taken out, is told
-- which are reserved for it ("turn PLACE S1 .. Sm"), or is dropped if it does not hear it. Who
-- wants several and cannot have them keeps those behind it waiting, or many who want one would
-- starve it. Who wants more than there are is dropped: it asks again, and is told so. At most 64.
-- Returns whether anybody heard.
local function serve(v, k, ms, me)
    local told = false
    for i = 1, 64 do
        local m = first(l)
        if not m or m == me then break end
        local n = wants(m)
        local s = pick(v, k, n, 0)
        if not s and n <= k then break end
        redis.pcall('zrem', l, m)
        if s and tell(m, 'turn', ' ' .. table.concat(s, ' ')) then
            reserve(v, s, string.sub(m, 1, 32), ms)
            told = true
        end
    end
    return told
end
