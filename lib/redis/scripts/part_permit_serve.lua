-- Include after part_line.lua and part_permit.lua. v: the values of the slots, from MGET, which
-- give() updates; empty if they could not be read: then no waiter is served.
--
-- wants: how many permits a value is for: the two hex digits after its client's id.
local function wants(m)
    return math.max(1, tonumber(string.sub(m, 17, 18), 16) or 1)
end
-- pick: n slots that are free or "reserved", looking from number `from` on and wrapping around;
-- nil: too few. MGET returns nothing for a key of another type, so EXISTS checks whether the key is
-- absent.
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
-- serve: while the first in line finds as many slots as it wants, takes it out of the line, writes
-- its value into the slots and notifies it of them ("turn V S1 .. Sm"); a waiter that does not hear
-- this is dropped. A waiter that wants several slots and cannot have them blocks those behind it,
-- or waiters that want one would starve it. A waiter that wants more than exist is dropped, and
-- learns why when it asks again. Serves at most 64. Returns whether any waiter heard.
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
