// SPDX-License-Identifier: Apache-2.0
#include "data/input_file.hpp"

#include <zlib.h>

#include "runtime/core/error.hpp"

namespace lockstep::data {

namespace {

constexpr unsigned buffer_bytes = 1u << 18;

}  // namespace

void InputFile::FileTraits::destroy(Raw raw) noexcept { ::gzclose_r(raw); }

InputFile::InputFile(const std::string& path) : path_(path), file_(::gzopen(path.c_str(), "rbe")) {
    if (!file_) throw_errno("cannot read", path_);
    ::gzbuffer(file_.raw(), buffer_bytes);
}

std::size_t InputFile::read(char* out, std::size_t bytes, std::string& damage) {
    const int got = ::gzread(file_.raw(), out, static_cast<unsigned>(bytes));
    int error = Z_OK;
    const char* what = ::gzerror(file_.raw(), &error);
    if (error == Z_ERRNO) throw_errno("cannot read", path_);
    if (error == Z_BUF_ERROR)
        damage = "the gzip data is cut off; copy the file again";
    else if (error != Z_OK)
        damage = "the gzip data is damaged (" + std::string(what) + "); copy the file again";
    return got > 0 ? static_cast<std::size_t>(got) : 0;
}

std::uint64_t InputFile::position() const {
    return static_cast<std::uint64_t>(::gzoffset(file_.raw()));
}

}  // namespace lockstep::data
