-- Lets each key that has the value live at least so long from now; all of them or none.
--
-- KEYS: the resources or slots; with a fence their counters behind them. ARGV: the value, the life
-- in ms, the fence ("": none), the life of the counters in ms, and for a reader the mode "shared",
-- or "convert" for a writer that becomes a reader. Returns 1; 0: the token is gone from one.
--
-- It writes in any case: a key that lives longer anyway is given what it has left, counted from
-- now, which ends no earlier. So only a node that may write says yes. One that has just become a
-- replica does not, also where its new primary's extension was there first.
--
-- math.max() makes a number of the life. Newer servers write some as 1e+8, which PEXPIRE refuses,
-- but none below 100000000: a day and some hours, and no ttl is longer than a day (command.c). What
-- may be longer is written by string.format (num in part_readers.lua), or is an argument as it came.
--
-- A reader's lease is extended. Where the key itself has the value, which a writer that becomes a
-- reader has left, or an upgrade that was not won, it lives as long, too. Only "convert" turns it
-- into a shared one with this lease alone, which ends no earlier: so there is no moment at which it
-- is nobody's or another writer's. The rounds that are sent since the lock counts as a reader's say
-- so, and not all: an extension that runs late, behind an upgrade that was counted, must not let
-- readers in. What a writer has left so is a reading phase that begins: readers that wait here are
-- let in, as behind a writer that goes, and shut the door if writers wait (release_line.lua).
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
