-- Sets the number of permits of a semaphore.
--
-- KEYS: the permits' key. ARGV: the life of a reservation in ms, the number, the resource. Returns
-- 1.
--
-- Serves the waiters with what is free now. Slots above a smaller number are held until they are
-- released or end, and are not given again.
-- include: part_line.lua
-- include: part_permit.lua
-- include: part_permit_serve.lua
keep(ARGV[2])
local k, was = tonumber(ARGV[2]), first(l)
if was then
    serve(redis.pcall('mget', slots(k)), k, ARGV[1])
    heir(l, was)
end
return 1
