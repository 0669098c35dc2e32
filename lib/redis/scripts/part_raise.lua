-- Lets a counter live at least as long as the hold does, and raises one that is below the fence. What
-- hinders that, a node that is full, a counter that is none, does not hinder the extension (pcall):
-- the lock is worth more. (An ACL that forbids the counters' names does; it would have forbidden
-- the grant.)
local function raise(counter, fence, life)
    local c = redis.pcall('get', counter)
    if type(c) ~= 'table' then
        c = tonumber(c or 0)
        if c and c < tonumber(fence) then
            redis.pcall('set', counter, fence, 'PX', life)
        elseif c then
            redis.pcall('pexpire', counter, life)
        end
    end
end
