-- Prolongs each key that has the value to at least the given life from now; all keys or none.
--
-- KEYS: the resources or slots; with a fence their counters follow. ARGV: the value, the life in
-- ms, the fence ("": none), the life of the counters in ms, and for a reader the mode "shared", or
-- "convert" for a writer that becomes a reader. Returns 1; 0: the token is gone from one of the
-- keys.
--
-- It always writes: a key that lives longer anyway is given its own remaining life, counted from
-- now, which ends no earlier. So only a node that may write says yes. A node that has just become a
-- replica does not, even if its new primary's extension has already reached it.
--
-- math.max() turns the life into a number. Newer servers write some numbers as 1e+8, which PEXPIRE
-- refuses, but none below 100000000, which is more than a day, the longest ttl (command.c). Numbers
-- that may be larger are formatted by string.format (num in part_readers.lua), or are arguments,
-- which are passed on unchanged.
--
-- For a reader, extends the lease. If the key itself has the value, after a writer's downgrade or
-- an upgrade that was not won, it gets the same life. Only "convert" turns that key into a shared
-- one with this lease alone, which ends no earlier, so that at no moment is the key absent or
-- another writer's. Only rounds that were sent since the lock counts as a reader's ask for this: an
-- extension that runs late, after an upgrade that was counted, must not let readers in. A converted
-- key begins a reading phase: readers that wait here are let in, as after a writer's release, and
-- shut the door if writers wait (release_line.lua).
-- include: part_raise.lua
local v, ms, f, mode = ARGV[1], ARGV[2], ARGV[3] or '', ARGV[5]
local n = f == '' and #KEYS or #KEYS / 2
if not mode then
    for i = 1, n do
        if redis.call('get', KEYS[i]) ~= v then return 0 end
    end
    for i = 1, n do
        redis.call('pexpire', KEYS[i], math.max(redis.call('pttl', KEYS[i]), ms))
    end
else
    -- include: part_readers.lua
    -- include: part_hold.lua
    -- include: part_line.lua
    -- include: part_serve.lua
    local is, ends = {}, {}
    for i = 1, n do
        local x = redis.call('get', KEYS[i])
        is[i] = x == 'redlock:shared'
        if is[i] then
            ends[i] = lease(KEYS[i], v)
        elseif x == v then
            ends[i] = now + redis.call('pttl', KEYS[i])
        end
        if not ends[i] then return 0 end
    end
    for i = 1, n do
        local e = math.max(ends[i], now + ms)
        if is[i] or mode == 'convert' then
            hold(KEYS[i], v, e, is[i])
            if not is[i] then serve_shared(KEYS[i], 250, true) end
        else
            redis.call('pexpireat', KEYS[i], num(e))
        end
    end
end
for i = n + 1, #KEYS do raise(KEYS[i], f, ARGV[4]) end
return 1
