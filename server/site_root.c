/* The document root in use; see site_root.h. The lock is taken on the way to a file only,
 * where a system call follows anyway; a cached answer reads one counter. */
#include "site_root.h"

void site_root_init(struct site_root *root, struct file_root *current)
{
    pthread_mutex_init(&root->lock, NULL);
    root->current = current;
    root->checked = false;
    root->checked_ms = 0;
    atomic_init(&root->changes, 0);
}

void site_root_destroy(struct site_root *root)
{
    file_root_put(root->current);
    pthread_mutex_destroy(&root->lock);
}

struct file_root *site_root_borrow(struct site_root *root, uint64_t now_ms,
                                   uint64_t max_age_ms, bool *due)
{
    struct file_root *borrowed;
    uint64_t age;

    pthread_mutex_lock(&root->lock);
    age = now_ms > root->checked_ms ? now_ms - root->checked_ms : 0;
    *due = !root->checked || age >= max_age_ms;
    borrowed = file_root_get(root->current);
    pthread_mutex_unlock(&root->lock);
    return borrowed;
}

void site_root_settle(struct site_root *root, struct file_root *found,
                      uint64_t checked_ms)
{
    struct file_root *old = NULL;

    pthread_mutex_lock(&root->lock);
    /* A look that was slow must not undo a later one. */
    if (!root->checked || checked_ms >= root->checked_ms) {
        root->checked = true;
        root->checked_ms = checked_ms;
        if (found->dev != root->current->dev || found->ino != root->current->ino) {
            old = root->current;
            root->current = file_root_get(found);
            atomic_fetch_add_explicit(&root->changes, 1, memory_order_release);
        }
    }
    pthread_mutex_unlock(&root->lock);
    file_root_put(old);
}
