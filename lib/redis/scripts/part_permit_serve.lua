-- Stands behind part_line.lua and part_permit.lua. v: what the slots have, by MGET, which is kept
-- up to date here; nothing in it: it could not be read, and nobody is served.
--
-- wants: how many permits a value is for: the two hex digits behind its client's.
local function wants(m)
    return math.max(1, tonumber(string.sub(m, 17, 18), 16) or 1)
end
-- pick: n slots that are free, or reserved for nobody, from number `from` on and around; nil: there
-- are not so many. Of a key that MGET says nothing of, EXISTS says whether it is of
-- another type.
local function pick(v, k, n, from)
    local s = {}
    for i = 0, k - 1 do
        local j = (from + i) % k
        local w = v[j + 1]
        if w == 'reserved' or (w == false and redis.pcall('exists', slot(j)) == 0) then
            s[#s + 1] = j
            if #s == n then return s end
        end
    end
end
local function give(v, s, m, ms)
    for i = 1, #s do
        own(slot(s[i]), m, ms)
        v[s[i] + 1] = m
    end
end
-- serve: as long as the first in line finds as many slots as it wants, it is taken out, its value is
-- written into them, and it is told which ("turn V S1 .. Sm"), or is dropped if it does not hear it. Who
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
            give(v, s, m, ms)
            told = true
        end
    end
    return told
end
