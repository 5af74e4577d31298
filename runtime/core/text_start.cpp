// SPDX-License-Identifier: Apache-2.0
#include "runtime/core/text_start.hpp"

#include <array>

#include "runtime/core/error.hpp"

namespace lockstep {
namespace {

struct Mark {
    std::string_view bytes;
    const char* what;
};

// The first that fits counts: UTF-32's mark begins as that of UTF-16.
constexpr std::array encodings{
    Mark{{"\xFF\xFE\0\0", 4}, "UTF-32"},
    Mark{{"\0\0\xFE\xFF", 4}, "UTF-32"},
    Mark{{"\xFF\xFE", 2}, "UTF-16"},
    Mark{{"\xFE\xFF", 2}, "UTF-16"},
};
constexpr std::array packings{
    Mark{{"\x1F\x8B", 2}, "gzip"},    Mark{{"BZh91AY&SY", 10}, "bzip2"},
    Mark{{"\xFD\x37zXZ\0", 6}, "xz"}, Mark{{"\x28\xB5\x2F\xFD", 4}, "zstd"},
    Mark{{"PK\x03\x04", 4}, "zip"},
};

[[noreturn]] void refuse_encoding(const std::string& name, const std::string& encoding) {
    throw Error(ErrorKind::data, name + ": is " + encoding +
                                     ", not UTF-8; convert it with iconv -f " + encoding +
                                     " -t UTF-8");
}

// Every second byte of English in UTF-16 is zero.
bool alternates(std::string_view head, std::size_t zero) {
    if (head.size() < 4) return false;
    for (std::size_t i = 0; i < 4; ++i)
        if ((head[i] == '\0') != (i % 2 == zero)) return false;
    return true;
}

}  // namespace

std::size_t mark_bytes(std::string_view head, const std::string& name) {
    for (const Mark& mark : encodings)
        if (head.starts_with(mark.bytes)) refuse_encoding(name, mark.what);
    if (alternates(head, 1)) refuse_encoding(name, "UTF-16LE");
    if (alternates(head, 0)) refuse_encoding(name, "UTF-16BE");
    for (const Mark& mark : packings)
        if (head.starts_with(mark.bytes))
            throw Error(ErrorKind::data, name + ": is compressed by " + mark.what +
                                             ", where a text belongs; unpack it first");
    return head.starts_with(byte_order_mark) ? byte_order_mark.size() : 0;
}

}  // namespace lockstep
