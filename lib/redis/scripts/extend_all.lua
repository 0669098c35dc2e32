-- Several resources: as extend.lua, for all of them or none.
--
-- KEYS: the resources. ARGV: the value, the life in ms. Returns 1; 0: the token is gone from one.
for i = 1, #KEYS do
    if redis.call('get', KEYS[i]) ~= ARGV[1] then return 0 end
end
for i = 1, #KEYS do
    redis.call('pexpire', KEYS[i], math.max(redis.call('pttl', KEYS[i]), ARGV[2]))
end
return 1
