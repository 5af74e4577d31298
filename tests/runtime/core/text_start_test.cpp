// SPDX-License-Identifier: Apache-2.0
#include "runtime/core/text_start.hpp"

#include <doctest/doctest.h>

#include "runtime/core/error.hpp"

using namespace lockstep;

namespace {

std::string refusal(std::string_view head) {
    try {
        mark_bytes(head, "f");
    } catch (const Error& e) {
        return e.what();
    }
    return "";
}

}  // namespace

TEST_CASE("a byte order mark of UTF-8 takes three bytes, and a text without one none") {
    CHECK(mark_bytes("\xEF\xBB\xBFhello", "f") == 3);
    CHECK(mark_bytes("\xEF\xBB\xBF", "f") == 3);
    CHECK(mark_bytes("\xEF\xBB", "f") == 0);
    CHECK(mark_bytes("hello", "f") == 0);
    CHECK(mark_bytes("", "f") == 0);
    CHECK(mark_bytes({"a\0b\r", 4}, "f") == 0);
}

TEST_CASE("other encodings and compressed files are named, with what to do") {
    CHECK(refusal("\xFF\xFEh") ==
          "f: is UTF-16, not UTF-8; convert it with iconv -f UTF-16 -t UTF-8");
    CHECK(refusal("\xFE\xFF").find("iconv -f UTF-16 -t UTF-8") != std::string::npos);
    CHECK(refusal({"\xFF\xFE\0\0", 4}).find("iconv -f UTF-32 -t") != std::string::npos);
    CHECK(refusal({"\0\0\xFE\xFF", 4}).find("iconv -f UTF-32 -t") != std::string::npos);
    CHECK(refusal({"h\0i\0", 4}).find("iconv -f UTF-16LE -t") != std::string::npos);
    CHECK(refusal({"\0h\0i", 4}).find("iconv -f UTF-16BE -t") != std::string::npos);
    CHECK(refusal("\x1F\x8B\x08") ==
          "f: is compressed by gzip, where a text belongs; unpack it "
          "first");
    CHECK(refusal("BZh91AY&SY").find("bzip2") != std::string::npos);
    CHECK(refusal({"\xFD\x37zXZ\0", 6}).find("by xz") != std::string::npos);
    CHECK(refusal("\x28\xB5\x2F\xFD").find("zstd") != std::string::npos);
    CHECK(refusal("PK\x03\x04").find("zip") != std::string::npos);
}
