// SPDX-License-Identifier: Apache-2.0
#include "runtime/comm/secret/secret.hpp"

#include <fcntl.h>
#include <openssl/rand.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <utility>

#include "runtime/comm/environment/address_text.hpp"
#include "runtime/core/error.hpp"
#include "runtime/core/file_descriptor.hpp"

namespace lockstep::comm {

namespace {

// Whoever listens on rank 0's port before it does gets a proof by which he may guess the secret.
void require_random(const std::string& text, const std::string& where) {
    constexpr std::size_t fewest_characters = 16;
    const bool varies = text.find_first_not_of(text.substr(0, 1)) != std::string::npos;
    if (text.size() >= fewest_characters && varies) return;
    throw Error(ErrorKind::config, where + " needs " + std::to_string(fewest_characters) +
                                       " or more random characters (openssl rand -hex 32)");
}

}  // namespace

Secret Secret::from(const Environment& environment) {
    const auto entry = environment.find(variable);
    if (entry == environment.end()) return {};
    std::string text = trimmed(entry->second);
    if (text.empty())
        throw Error(ErrorKind::config, std::string(variable) +
                                           ": is set and empty; unset it, or give 16 or more "
                                           "random characters (openssl rand -hex 32)");
    require_random(text, std::string(variable) + ": it");
    return Secret(std::move(text));
}

Secret Secret::from_file(const std::string& path) {
    const char* cannot = "--secret-file cannot be read";
    const FileDescriptor file(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
    struct stat status {};
    if (!file || ::fstat(file.raw(), &status) != 0) throw_errno(cannot, path);
    if (!S_ISREG(status.st_mode))
        throw Error(ErrorKind::config, "--secret-file " + path + ": is not a regular file");
    if ((status.st_mode & (S_IRWXG | S_IRWXO)) != 0) {
        throw Error(ErrorKind::config,
                    "--secret-file " + path +
                        ": others can read or change it, and may know this secret; make a new one "
                        "and type chmod 600 " +
                        path);
    }
    std::array<char, 4096> bytes{};  // a longer line is refused
    const ssize_t read = ::read(file.raw(), bytes.data(), bytes.size());
    if (read < 0) throw_errno(cannot, path);
    const std::string text(bytes.data(), static_cast<std::size_t>(read));
    const std::string line = text.substr(0, text.find('\n'));
    if (line.size() == bytes.size())
        throw Error(ErrorKind::config, "--secret-file " + path + ": its first line has " +
                                           std::to_string(bytes.size()) +
                                           " characters or more; give fewer");
    std::string secret = trimmed(line);  // files of Windows have more than the text
    require_random(secret, "--secret-file " + path + ": its first line");
    return Secret(std::move(secret));
}

Secret Secret::make() {
    std::array<unsigned char, 32> random{};
    if (RAND_bytes(random.data(), static_cast<int>(random.size())) != 1) {
        throw Error(ErrorKind::store, "the system gives no random numbers for the job's secret");
    }
    constexpr const char* digits = "0123456789abcdef";
    std::string text;
    for (const unsigned char byte : random) {
        text += digits[byte >> 4];
        text += digits[byte & 15];
    }
    return Secret(std::move(text));
}

}  // namespace lockstep::comm
