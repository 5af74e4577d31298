// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace lockstep::failing_disk {

// The kinds of calls that the library counts.
enum class Kind { open, list, write, sync, rename, link, unlink, mkdir, close, truncate };

constexpr const char* name(Kind kind) noexcept {
    switch (kind) {
        case Kind::open:
            return "open";
        case Kind::list:
            return "list";
        case Kind::write:
            return "write";
        case Kind::sync:
            return "sync";
        case Kind::rename:
            return "rename";
        case Kind::link:
            return "link";
        case Kind::unlink:
            return "unlink";
        case Kind::mkdir:
            return "mkdir";
        case Kind::close:
            return "close";
        case Kind::truncate:
            return "truncate";
    }
    return "";
}

}  // namespace lockstep::failing_disk
