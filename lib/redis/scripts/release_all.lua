-- Several resources: deletes each key that has the value.
--
-- KEYS: the resources. ARGV: the value. Returns 1; 0: the token was under none of them.
--
-- Each key is looked at by pcall: one of another type cannot have the value, and must not keep the
-- others from being deleted. Other errors are returned after the work is done.
local n, e = 0
for i = 1, #KEYS do
    local v = redis.pcall('get', KEYS[i])
    if v == ARGV[1] then
        n = 1
        redis.call('del', KEYS[i])
    elseif type(v) == 'table' and not string.find(v.err, 'WRONGTYPE', 1, true) then
        e = v
    end
end
return e or n
