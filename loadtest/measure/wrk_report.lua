-- What wrk knows at its end, as one line that a program can read and add up.
--
-- Only done() is defined here: request() or response() would be called for each request,
-- and the generator would measure itself.

-- The quantile function in units of 0.05 %: coarse where nothing happens, fine in the
-- tail. slices.py has the same steps.
local function quantiles(latency)
    local found = {}
    for step = 10, 1999 do
        if step % 10 == 0 or step > 1960 then
            table.insert(found, string.format("%.0f", latency:percentile(step / 20)))
        end
    end
    -- wrk answers 0 to percentile(100).
    table.insert(found, string.format("%.0f", latency.max))
    return table.concat(found, ",")
end

function done(summary, latency, requests)
    local errors, some = summary.errors, summary.requests > 0
    io.write(string.format(
        'wrk-report: {"requests": %.0f, "microseconds": %.0f, '
        .. '"errors": {"connect": %.0f, "read": %.0f, "write": %.0f, "timeout": %.0f, '
        .. '"status": %.0f}, '
        .. '"mean": %.1f, "max": %.0f, "quantiles": [%s]}\n',
        summary.requests, summary.duration, errors.connect, errors.read, errors.write,
        errors.timeout, errors.status, some and latency.mean or 0,
        some and latency.max or 0, some and quantiles(latency) or ""))
end
