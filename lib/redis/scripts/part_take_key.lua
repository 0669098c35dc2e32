-- Key number i, which may be taken: sets it, or prolongs what has the value already.
if redis.call('get', KEYS[i]) == ARGV[1] then
    redis.call('pexpire', KEYS[i], math.max(redis.call('pttl', KEYS[i]), ARGV[2]))
else
    redis.call('set', KEYS[i], ARGV[1], 'PX', ARGV[2])
end
