/* See life.h. */
#include "election/life.h"

#include <assert.h>

#include "base/require.h"

void rl_election_end(struct rl_recipe *recipe) {
    redlock_election *election = RL_CONTAINER(recipe, redlock_election, recipe);
    RL_REQUIRE(election->pending == 0); /* a later callback would use freed memory */
    rl_recipe_free(&election->recipe);
}

void rl_election_ref(redlock_election *election) {
    assert(rl_link_is_in(&election->recipe.link)); /* it still exists */
    election->pending++;
}

void rl_election_unref(redlock_election *election) {
    RL_REQUIRE(election->pending > 0);
    if (--election->pending == 0 && election->is_freed) {
        rl_recipe_free(&election->recipe);
    }
}
