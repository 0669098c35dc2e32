-- One resource: lets its key live at least so long from now, if it has the value.
--
-- KEYS: the resource. ARGV: the value, the life in ms. Returns 1; 0: the token is gone.
--
-- It writes in any case: a key that lives longer anyway is given what it has left, counted from
-- now, which ends no earlier. So only a node that may write says yes. One that has just become a
-- replica does not, also where its new primary's extension was there first.
--
-- math.max() makes a number of the life. Newer servers write some as 1e+8, which PEXPIRE refuses,
-- but none below 100000000: a day and some hours, and no ttl is longer than a day (command.c). What
-- may be longer is written by string.format (num in part_readers.lua), or is an argument as it came.
if redis.call('get', KEYS[1]) ~= ARGV[1] then return 0 end
redis.call('pexpire', KEYS[1], math.max(redis.call('pttl', KEYS[1]), ARGV[2]))
return 1
