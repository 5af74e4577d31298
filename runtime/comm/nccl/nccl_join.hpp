// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace lockstep::comm {

// The watchdog sees this operation while a rank joins the others by NCCL.
inline constexpr const char* nccl_join = "NCCL's join";

// Tells a user what to look at when a join gets no answer.
inline constexpr const char* advice_on_nccl_join =
    "can the ranks' GPUs reach each other? NCCL_DEBUG=INFO shows which interface NCCL takes; "
    "choose "
    "it by --interface or NCCL_SOCKET_IFNAME, and look for a firewall between the hosts: "
    "docs/launching.md, \"When NCCL is slow or fails\"";

}  // namespace lockstep::comm
