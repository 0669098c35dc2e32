/* The hashes of the scripts. Their bytes are part of a version: a node keeps one copy of each for
 * all clients, and a script that was changed is another one. So the hashes stand here, not only in
 * the build. */
#ifndef UNIT_SCRIPT_SHAS_H
#define UNIT_SCRIPT_SHAS_H

#define TAKE_SHA "92bab96e15b0172dffc135276b2a7955fc3c7762"
#define RAISE_SHA "bee95b1fecc5350454d1a8d5d9b0f8f9f95fbb66"
#define EXTEND_SHA "674d6bbb01be8598f9e41168239087981fce8715"
#define UPGRADE_SHA "6dcfea0bcf548e9bc7dedc0032c176734f77a15e"
#define RELEASE_SHA "0f117814c511f7fbbe88618883d11c58510ba453"
#define READ_SHA "442dd2b400459a71a05ef85deeb5403813613362"
#define JOIN_SHA "a88c22a50c774d26bb70a92be58dfac9a7779c4b"
#define RELEASE_LINE_SHA "128ffdc3715c4e6d69b4b471d5bff320273e38be"
#define RELEASE_PERMIT_SHA "60169feebc10bd652ce4e6f1908862979c5f923f"
#define LEAVE_SHA "8329eedd70d71b88929c80544fc90ea4d03339ca"
#define WAITER_SHA "c829c72801790ba58ee077221fba24defb574558"
#define READERS_SHA "cd231e018f3b6c2160862ed74b827f941ae09b12"
#define SET_PERMITS_SHA "f13b080dc1de1c38d8176da567d1ddd4f01dbe35"
#define SLOTS_SHA "5c53c82e4efc25d22fa41bce6f131dd1b0f4b2d7"

#define SCRIPT_SHAS                                                                                \
    TAKE_SHA, RAISE_SHA, EXTEND_SHA, UPGRADE_SHA, RELEASE_SHA, READ_SHA, JOIN_SHA,                 \
        RELEASE_LINE_SHA, RELEASE_PERMIT_SHA, LEAVE_SHA, WAITER_SHA, READERS_SHA, SET_PERMITS_SHA, \
        SLOTS_SHA

#endif
