-- Readers: as extend_all.lua, and with a fence as extend_fenced.lua, for leases.
--
-- KEYS: the n resources, and with a fence their n counters. ARGV: the value, the life in ms, "1" to
-- convert; with a fence that, and the life of the counters in ms. Returns 1; 0: the lease is gone
-- from one.
--
-- Where the key itself has the value, which a writer that becomes a reader has left, or an upgrade
-- that was not won, it lives as long, too. Only who converts makes it one that is shared, with this
-- lease alone, which ends no earlier: so there is no moment at which it is nobody's or another
-- writer's. That is said by the rounds that are sent since the lock counts as a reader's, and not
-- by all: an extension that runs late, behind an upgrade that was counted, must not let readers in.
--
-- What a writer has left so is a reading phase that begins: readers that wait here are let in, as
-- behind a writer that goes (release_line.lua), and shut the door if writers wait, whose turn it is
-- when the last of them goes (release_shared.lua). Else, where all writers become readers, it would
-- always be the next writer's. Nothing of that raises an error.
-- include: part_readers.lua
-- include: part_lease.lua
-- include: part_hold.lua
-- include: part_line.lua
-- include: part_serve.lua
local n = ARGV[4] and #KEYS / 2 or #KEYS
local v, ms, is, ends = ARGV[1], tonumber(ARGV[2]), {}, {}
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
    if is[i] or ARGV[3] == '1' then
        hold(KEYS[i], v, e, is[i])
        if not is[i] then serve_shared(KEYS[i], 250, true) end
    else
        redis.call('pexpireat', KEYS[i], num(e))
    end
    if ARGV[4] then
        local k = KEYS[n + i]
        local c = redis.pcall('get', k)
        if type(c) ~= 'table' then
            c = tonumber(c or 0)
            if c and c < tonumber(ARGV[4]) then
                redis.pcall('set', k, ARGV[4], 'PX', ARGV[5])
            elseif c then
                redis.pcall('pexpire', k, ARGV[5])
            end
        end
    end
end
return 1
