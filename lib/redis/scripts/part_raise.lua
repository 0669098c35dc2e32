-- Makes a counter live as long as the hold, and raises one that is below the fence. A failure here
-- (a full node, a key that is no counter) does not prevent the extension (pcall): the lock is worth
-- more. (An ACL that forbids the counters' names does prevent it, but would have forbidden the
-- grant.)
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
