// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <vector>

#include "runtime/comm/secret/secret.hpp"
#include "runtime/comm/secret/secret_envelope.hpp"
#include "runtime/core/error.hpp"
#include "runtime/core/file_descriptor.hpp"

namespace lockstep::comm {

namespace {

constexpr std::string_view name_start = "/lockstep-secret-";
constexpr std::array<const char*, 2> folders{"/dev/shm", "/tmp"};

// A stranger's credential must not make this process read any other file.
bool may_be_opened(const std::string& path) {
    for (const std::string folder : folders) {
        const std::string start = folder + std::string(name_start);
        if (!path.starts_with(start) || path.size() == start.size()) continue;
        return path.find_first_not_of("0123456789abcdef", start.size()) == std::string::npos;
    }
    return false;
}

bool is_private(const FileDescriptor& file) {
    struct stat facts {};
    return ::fstat(file.raw(), &facts) == 0 && S_ISREG(facts.st_mode) &&
           facts.st_uid == ::geteuid() && (facts.st_mode & (S_IRWXG | S_IRWXO)) == 0;
}

// Keeps the text in a file that only this user can read, for as long as the envelope lives. Its
// name is the credential.
class FileEnvelope : public SecretEnvelope {
public:
    FileEnvelope() = default;
    FileEnvelope(const FileEnvelope&) = delete;
    FileEnvelope& operator=(const FileEnvelope&) = delete;
    ~FileEnvelope() override {
        for (const std::string& path : made_) ::unlink(path.c_str());
    }

    Reach reach() const noexcept override { return Reach::this_host; }
    std::string name() const override { return "a private file on this host"; }

    std::string close(const std::string& text) override {
        const std::string file_name = std::string(name_start) + Secret::make().text();
        for (const std::string folder : folders) {
            std::string path = folder + file_name;
            const FileDescriptor file(
                ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
            if (!file) continue;
            made_.push_back(path);
            if (::write(file.raw(), text.data(), text.size()) == std::ssize(text)) return path;
        }
        throw Error(ErrorKind::store,
                    "the job's secret can be written neither to /dev/shm nor to /tmp: set "
                    "LOCKSTEP_SECRET to the same random text for all ranks, or give --secret-file");
    }

    std::optional<std::string> open(const std::string& credential) override {
        if (!may_be_opened(credential)) return std::nullopt;
        const FileDescriptor file(
            ::open(credential.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
        if (!file || !is_private(file)) return std::nullopt;
        std::array<char, 1024> text{};
        const ssize_t bytes = ::read(file.raw(), text.data(), text.size());
        if (bytes <= 0) return std::nullopt;
        return std::string(text.data(), static_cast<std::size_t>(bytes));
    }

private:
    std::vector<std::string> made_;
};

}  // namespace

std::unique_ptr<SecretEnvelope> file_envelope() { return std::make_unique<FileEnvelope>(); }

}  // namespace lockstep::comm
