-- w: the number of waiters in the counted lines. longest: how long the first of them has waited, in
-- ms.
--
-- Nothing in here raises an error, whatever the line contains, since it runs after keys were set or
-- deleted. A score is the node's TIME in us minus the time waited; the clock may have stepped
-- since.
local w, longest = 0, 0
local function count(l)
    local m = redis.pcall('zrange', l, 0, 0, 'withscores')
    local n = m[2] and redis.pcall('zcard', l)
    if type(n) ~= 'number' then return end
    w = w + n
    local t, s = redis.pcall('time'), tonumber(m[2])
    if t[2] and s then
        local ms = math.floor((t[1] * 1000000 + t[2] - s) / 1000)
        longest = math.max(longest, math.min(ms, 4294967295))
    end
end
