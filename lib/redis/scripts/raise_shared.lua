-- Readers: raises the counters to the fence, if the lease, or the key with the value, still lives.
--
-- KEYS: the n resources, then their n counters. ARGV: the value, the fence, the life of the
-- counters in ms. Returns 1; 0: the lease is gone, or a counter is none.
--
-- A counter that is above the fence stays, and is good: another reader has raised it. (No writer
-- has, since this one reads; and of a reader's fence nothing is asked but that the next writer's is
-- larger.) For a writer's it is not: raise.lua.
-- include: part_readers.lua
-- include: part_lease.lua
local n, f = #KEYS / 2, tonumber(ARGV[2])
for i = 1, n do
    local x = redis.call('get', KEYS[i])
    if x ~= ARGV[1] and not (x == 'redlock:shared' and lease(KEYS[i], ARGV[1])) then return 0 end
end
for i = n + 1, 2 * n do
    if not tonumber(redis.call('get', KEYS[i]) or 0) then return 0 end
end
for i = n + 1, 2 * n do
    if tonumber(redis.call('get', KEYS[i]) or 0) <= f then
        redis.call('set', KEYS[i], ARGV[2], 'PX', ARGV[3])
    else
        redis.call('pexpire', KEYS[i], ARGV[3])
    end
end
return 1
