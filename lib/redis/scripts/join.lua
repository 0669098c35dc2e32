-- A waiter gets its turn, or joins the line. May be repeated.
--
-- KEYS: the resource, or the permits' key. ARGV: the value that it will hold with; how long it has
-- waited, and how long it has the key if this is its turn, both in ms; for a semaphore the first
-- slot to look at for a free one ("": any); "peek": it hears no messages and does not stay in line,
-- or "quiet": it only joins the line; and the mode as in take.lua. Returns "1": its turn: its value
-- is in the key, or the key is reserved for readers, and it is out of the line; for a semaphore "1
-- S1 .. Sm", the slots that have its value. Or "0 RANK LIFE": how many are before it, and the life
-- in ms of the key, or of the slot that ends first (-1: none ends; 0: there is no key, or there are
-- free slots; at least 1000 while others read). Or the error PERMITS, as in take.lua.
--
-- Can it take a lock away? No: it writes a key only if the key is absent, "reserved" or reserved
-- for readers. Can it shorten a life? No: it leaves a key that already has its value unchanged. A
-- key of another type is an error, before anything is written.
--
-- A place keeps its score: a lost answer or a repeated JOIN changes nothing. Drops at most 16 dead
-- waiters before it, and places that this client has left but whose LEAVE did not arrive. (A peek
-- keeps those: another lock of its client may stand there. For a semaphore only places that want as
-- many permits are dropped.) If the key is free, the first living waiter before it is served; and
-- readers that have waited longer than all writers come first.
--
-- A reader gets a yes if the key is reserved for readers, or if it is free or shared and no living
-- writer has waited longer. So a stream of readers lets every writer in, and a waiting reader lets
-- at most one writer in: it is served when that writer releases (release_line.lua). With its yes
-- all other waiting readers are let in too, if the key was free or no writer waits. If the key is
-- free and a writer has waited longer, the writer is served.
-- include: part_line.lua
local k, me, ms, how, mode = KEYS[1], ARGV[1], ARGV[3], ARGV[5] or '', ARGV[6] or ''
local was, yes
-- stay: puts the value into the line, unless it is there.
local function stay(l)
    local t = redis.call('time')
    local s = string.format('%.0f', t[1] * 1000000 + t[2] - ARGV[2] * 1000)
    redis.call('zadd', l, 'nx', s, me)
    redis.call('pexpire', l, 600000)
end
if mode == '' or mode == 'shared' then
    -- include: part_serve.lua
    local v = redis.call('get', k)
    local is, free = v == 'redlock:shared', not v or v == 'reserved'
    local l, q = 'libredlock:line:{' .. k .. '}', 'libredlock:line:shared:{' .. k .. '}'
    if mode == 'shared' then l, q = q, l end
    was = first(l)
    if mode == '' then
        if v == me then
            redis.call('zrem', l, me)
            heir(l, was, nil, k)
            return '1'
        end
        stay(l)
        if how == '' then
            local r = free and redis.pcall('zrange', q, 0, 0, 'withscores')
            if r and r[2] then
                local w = redis.pcall('zrange', l, 0, 0, 'withscores')
                if w[2] and tonumber(r[2]) < tonumber(w[2]) and serve_shared(k, 250) then
                    free = false
                end
            end
            for i = 1, 16 do
                local m = first(l)
                if not m or m == me then
                    yes = free
                    break
                end
                if string.sub(m, 1, 16) == string.sub(me, 1, 16) then
                    redis.call('zrem', l, m)
                elseif free then
                    redis.call('zrem', l, m)
                    if tell(m, 'turn') then
                        own(k, m, ms)
                        break
                    end
                else
                    if hears(m) then break end
                    redis.call('zrem', l, m)
                end
            end
        end
        if yes then
            -- If the key cannot be written, the client asks the nodes all the same.
            own(k, me, ms)
            redis.call('zrem', l, me)
        end
    else
        local wrote = first(q)
        stay(l)
        for i = 1, 16 do
            local m = first(l)
            if not m or m == me then break end
            if string.sub(m, 1, 16) ~= string.sub(me, 1, 16) and hears(m) then break end
            redis.call('zrem', l, m)
        end
        local w
        for i = 1, 16 do
            w = first(q)
            if not w or hears(w) then break end
            redis.pcall('zrem', q, w)
            w = first(q)
        end
        local s = w and redis.pcall('zscore', q, w)
        local before = type(s) ~= 'string' or tonumber(redis.call('zscore', l, me)) < tonumber(s)
        yes = how == '' and (v == 'reserved:shared' or before and (is or free))
        if how == '' and free and not before and not serve(k, q, ms) then yes = true end
        if yes then
            redis.call('zrem', l, me)
            if free or not w then serve_shared(k, 250, is) end
            if not is then redis.call('set', k, 'reserved:shared', 'PX', 250) end
        end
        heir(q, wrote)
    end
    heir(l, was, me, k)
    if yes then return '1' end
    local left = redis.call('pttl', k)
    if left == -2 then left = 0 end
    if is then left = math.max(left, 1000) end
    return string.format('0 %.0f %.0f', redis.call('zrank', l, me) or 0, left)
end
-- include: part_permit.lua
-- include: part_permit_serve.lua
local n, from, peeks = wants(me), ARGV[4], how == 'peek'
k = tonumber(mode)
local e = disagree(k)
if e then
    redis.pcall('zrem', l, me)
    return e
end
keep(mode)
local v, s = redis.call('mget', slots(k)), {}
was = first(l)
for i = 1, k do
    if v[i] == me then s[#s + 1] = i - 1 end
end
local has = #s == n
if not has then
    s = nil
    if not peeks then stay(l) end
    for i = 1, 16 do
        serve(v, k, ms, me)
        local m = first(l)
        if not m or m == me then
            if how ~= 'quiet' then s = pick(v, k, n, tonumber(from) or 0) end
            break
        end
        if (peeks or string.sub(m, 1, 18) ~= string.sub(me, 1, 18)) and hears(m) then break end
        redis.call('zrem', l, m)
    end
end
if s then
    if not has then give(v, s, me, ms) end
    redis.call('zrem', l, me)
    if from ~= '' then serve(v, k, ms) end
end
heir(l, was, me)
if s then return '1 ' .. table.concat(s, ' ') end
local left = 0
if not pick(v, k, n, 0) then
    left = -1
    for i = 1, k do
        local t = redis.call('pttl', slot(i - 1))
        if t >= 0 and (left < 0 or t < left) then left = t end
    end
end
local rank = redis.call('zrank', l, me) or redis.call('zcard', l)
return string.format('0 %.0f %.0f', rank, left)
