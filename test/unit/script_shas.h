/* The hashes of the scripts. Their bytes are part of a version: a node keeps one copy of each for
 * all clients, and a changed script is a different one. So the hashes are listed here, not only in
 * the build. */
#ifndef UNIT_SCRIPT_SHAS_H
#define UNIT_SCRIPT_SHAS_H

#define TAKE_SHA "634763b6d68536d0b7c03bc4cbc5e4f03340646d"
#define RAISE_SHA "bee95b1fecc5350454d1a8d5d9b0f8f9f95fbb66"
#define EXTEND_SHA "5a2ddc4ad865bbd1a0d5bd25a50f0a8ed19054ca"
#define EXTEND_MANY_SHA "3bf41edd20e9a929467c473772ed2bb7d25a7553"
#define UPGRADE_SHA "6dcfea0bcf548e9bc7dedc0032c176734f77a15e"
#define RELEASE_SHA "0f117814c511f7fbbe88618883d11c58510ba453"
#define READ_SHA "442dd2b400459a71a05ef85deeb5403813613362"
#define JOIN_SHA "1059a74c69893a671ef4fcc0d76917ff5d63450c"
#define RELEASE_LINE_SHA "da368c7097d87223e62868a929435ca002dca222"
#define RELEASE_PERMIT_SHA "1cd0380374452c40545535c69f4f249550a2e6a4"
#define LEAVE_SHA "9f3e39a442aa5f017a6df9fdca1525abfa3f1ce9"
#define WAITER_SHA "b39a837687da66a2e6403074f004b77ac0f2d42a"
#define READERS_SHA "cd231e018f3b6c2160862ed74b827f941ae09b12"
#define SET_PERMITS_SHA "aa9fa008d3c933e40691114792199014c1ad2217"
#define SLOTS_SHA "5c53c82e4efc25d22fa41bce6f131dd1b0f4b2d7"

#define SCRIPT_SHAS                                                                         \
    TAKE_SHA, RAISE_SHA, EXTEND_SHA, EXTEND_MANY_SHA, UPGRADE_SHA, RELEASE_SHA, READ_SHA,   \
        JOIN_SHA, RELEASE_LINE_SHA, RELEASE_PERMIT_SHA, LEAVE_SHA, WAITER_SHA, READERS_SHA, \
        SET_PERMITS_SHA, SLOTS_SHA

#endif
