/* The pool's size from what was seen of it. A shortage doubles the step, so that a crowd
 * is met in a few rounds; surplus goes by halves, and only after a whole window without
 * use, so that a pulsing load does not start and end contexts. It must never act. */
#include "pool_policy.h"

#include <string.h>

static unsigned smaller(unsigned a, unsigned b)
{
    return a < b ? a : b;
}

void pool_policy_init(struct pool_policy *policy, unsigned ready, unsigned limit,
                      uint64_t now_ms)
{
    memset(policy, 0, sizeof(*policy));
    policy->limit = limit;
    policy->ready = smaller(ready, limit);
    policy->step = policy->ready;
    policy->window_ms = now_ms;
    policy->window_idle = UINT32_MAX;
}

unsigned pool_policy_start(struct pool_policy *policy, unsigned total, unsigned idle,
                           uint64_t now_ms)
{
    if (now_ms < policy->resume_ms || total >= policy->limit || idle >= policy->ready) {
        return 0;
    }
    unsigned wanted = policy->ready - idle;
    if (idle == 0) {
        if (now_ms - policy->shortage_ms > POOL_CALM_MS) {
            policy->step = policy->ready;
        }
        wanted = policy->step > wanted ? policy->step : wanted;
        policy->shortage_ms = now_ms;
        policy->step = smaller(policy->step * 2, POOL_STEP_MAX);
    }
    return smaller(wanted, policy->limit - total);
}

bool pool_policy_retire(struct pool_policy *policy, unsigned idle, uint64_t now_ms,
                        unsigned *surplus)
{
    policy->window_idle = smaller(policy->window_idle, idle);
    if (now_ms - policy->window_ms < POOL_WINDOW_MS) {
        return false;
    }
    unsigned unused = policy->window_idle;
    policy->window_ms = now_ms;
    policy->window_idle = idle;
    *surplus = unused > policy->ready ? (unused - policy->ready + 1) / 2 : 0;
    return true;
}

void pool_policy_failed(struct pool_policy *policy, uint64_t now_ms)
{
    if (now_ms - policy->failed_ms > 2 * POOL_BACKOFF_MAX_MS) {
        policy->failures = 0;
    }
    uint64_t pause_ms = (uint64_t)POOL_BACKOFF_MS << smaller(policy->failures, 16);
    if (pause_ms > POOL_BACKOFF_MAX_MS) {
        pause_ms = POOL_BACKOFF_MAX_MS;
    }
    policy->failures++;
    policy->failed_ms = now_ms;
    policy->resume_ms = now_ms + pause_ms;
}

void pool_policy_worked(struct pool_policy *policy)
{
    policy->failures = 0;
    policy->resume_ms = 0;
}

bool pool_policy_full(const struct pool_policy *policy, unsigned total, unsigned idle,
                      uint64_t now_ms)
{
    if (idle > 0) {
        return false;
    }
    return total >= policy->limit || (now_ms < policy->resume_ms && total > 0);
}
