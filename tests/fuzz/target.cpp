// SPDX-License-Identifier: Apache-2.0
#include "tests/fuzz/target.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <stdexcept>

#include "runtime/core/file_descriptor.hpp"
#include "runtime/core/printable.hpp"

namespace lockstep::fuzz {

void expect(bool condition, const std::string& what) {
    if (!condition) throw std::logic_error(what);
}

void expect_readable(const Error& error) {
    const std::string what = error.what();
    expect(error.kind() != ErrorKind::contract, "a contract error: " + what);
    expect(!what.empty() && what.size() < 4096,
           "a message of " + std::to_string(what.size()) + " bytes: " + what);
    expect(what == printable(what), "a message with control characters: " + what);
}

void write_input(const char* name, std::span<const std::uint8_t> bytes) {
    const FileDescriptor file(::open(name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
    const auto written = ::write(file.raw(), bytes.data(), bytes.size());
    expect(written == static_cast<ssize_t>(bytes.size()), std::string(name) + " is not written");
}

}  // namespace lockstep::fuzz
