// SPDX-License-Identifier: Apache-2.0
#include "launcher/text/log_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <ctime>
#include <exception>
#include <iostream>
#include <mutex>
#include <streambuf>
#include <string_view>
#include <utility>

#include "launcher/text/already_told.hpp"
#include "launcher/text/exception_text.hpp"
#include "launcher/text/line_time.hpp"
#include "runtime/core/error.hpp"
#include "runtime/core/failure_reason.hpp"
#include "runtime/core/file_descriptor.hpp"
#include "runtime/core/system_failure.hpp"
#include "runtime/files/followed_path.hpp"

namespace lockstep::launcher {

// The file is opened for appending, so lines of several processes of this host do not mix.
class LogFile::File {
public:
    explicit File(std::string path) : path_(std::move(path)) {}

    void open() {
        const std::string path = followed_path(path_);
        FileDescriptor file(::open(
            path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_NONBLOCK | O_NOCTTY | O_CLOEXEC, 0666));
        const int code = errno;
        struct stat status {};
        const bool is_open = file && ::fstat(file.raw(), &status) == 0;
        const bool is_other = is_open ? !S_ISREG(status.st_mode) : code == ENXIO || code == EISDIR;
        if (is_other)
            throw Error(ErrorKind::config,
                        "--log-file " + path_ + ": is not a regular file; name another");
        if (!is_open)
            throw SystemFailure(
                "--log-file " + path_ + ": cannot be written: " + writing_failure_reason(code) +
                    (code == ENOENT ? "; make its folder first, or name another file" : ""),
                code);
        if (status.st_size > 0) require_log(path);
        file_ = std::move(file);
    }

    void add(std::string_view line) noexcept {
        try {
            const std::lock_guard lock(mutex_);
            if (!file_) open();
            write(line_time() + std::string(line) + "\n");
        } catch (const std::exception& failure) {
            tell(failure.what());
        }
    }

private:
    // Lines are added only to a file that holds such lines, and not to somebody's text.
    void require_log(const std::string& path) const {
        const FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
        std::array<char, 32> head{};
        const ssize_t bytes = file ? ::pread(file.raw(), head.data(), head.size(), 0) : -1;
        if (bytes < 0 || begins_with_time({head.data(), static_cast<std::size_t>(bytes)})) return;
        throw Error(ErrorKind::config, "--log-file " + path_ +
                                           ": holds something else than lines with times; name "
                                           "another file");
    }

    void write(std::string_view text) {
        while (!text.empty()) {
            const ssize_t written = ::write(file_.raw(), text.data(), text.size());
            if (written < 0 && errno == EINTR) continue;
            if (written <= 0)
                throw SystemFailure(
                    "--log-file " + path_ + ": cannot be written: " + writing_failure_reason(errno),
                    errno);
            text.remove_prefix(static_cast<std::size_t>(written));
        }
    }

    // Standard error itself copies its lines to this file.
    void tell(const std::string& failure) noexcept {
        if (std::exchange(told_, true)) return;
        const std::string line = "warning: " + failure + "; the run goes on (told once)\n";
        (void)!::write(STDERR_FILENO, line.data(), line.size());
    }

    std::string path_;
    FileDescriptor file_;
    std::mutex mutex_;
    bool told_ = false;
};

namespace {

// Passes text on as it is, and gives each whole line to `add`. Nobody need read what is passed on:
// after a failure only the lines are given.
class CopyBuffer : public std::streambuf {
public:
    CopyBuffer(std::streambuf& out, std::function<void(std::string_view)> add)
        : out_(out), add_(std::move(add)) {}

    bool has_failed() const noexcept { return failed_; }
    void end_line() {
        if (!line_.empty()) add_(std::exchange(line_, ""));
    }

protected:
    std::streamsize xsputn(const char* text, std::streamsize count) override {
        const std::lock_guard lock(mutex_);
        failed_ = failed_ || out_.sputn(text, count) != count;
        for (const char one : std::string_view(text, static_cast<std::size_t>(count))) take(one);
        return count;
    }
    int_type overflow(int_type letter) override {
        if (traits_type::eq_int_type(letter, traits_type::eof())) return 0;
        const char one = traits_type::to_char_type(letter);
        xsputn(&one, 1);
        return letter;
    }
    int sync() override {
        const std::lock_guard lock(mutex_);
        failed_ = failed_ || out_.pubsync() != 0;
        return 0;
    }

private:
    // On a terminal a progress bar, and the mark that clears it, come before a carriage return or
    // behind one.
    void take(char one) {
        constexpr std::string_view clear = "\x1b[K";
        if (one == '\r') {
            line_.clear();
        } else if (one == '\n') {
            add_(std::exchange(line_, ""));
        } else {
            line_ += one;
            if (line_ == clear) line_.clear();
        }
    }

    std::streambuf& out_;
    std::function<void(std::string_view)> add_;
    std::mutex mutex_;
    std::string line_;
    bool failed_ = false;
};

// Makes a stream's text pass through a CopyBuffer while it lives.
class CopiedStream {
public:
    CopiedStream(std::ostream& stream, std::function<void(std::string_view)> add)
        : stream_(stream), before_(stream.rdbuf()), copy_(*before_, std::move(add)) {
        stream_.rdbuf(&copy_);
    }
    CopiedStream(const CopiedStream&) = delete;
    CopiedStream& operator=(const CopiedStream&) = delete;
    ~CopiedStream() {
        stream_.flush();
        copy_.end_line();
        stream_.rdbuf(before_);
        if (copy_.has_failed()) stream_.setstate(std::ios::badbit);
    }

private:
    std::ostream& stream_;
    std::streambuf* before_;
    CopyBuffer copy_;
};

}  // namespace

class LogFile::Copies {
public:
    explicit Copies(const std::function<void(std::string_view)>& add)
        : output_(std::cout, add), errors_(std::cerr, add) {}

private:
    CopiedStream output_, errors_;
};

LogFile::LogFile(const std::string& path, int rank) {
    if (path.empty()) return;
    ::tzset();  // localtime_r() need not
    file_ = std::make_unique<File>(rank == 0 ? path : path + ".rank" + std::to_string(rank));
    if (rank == 0) file_->open();
    copies_ =
        std::make_unique<Copies>([file = file_.get()](std::string_view line) { file->add(line); });
}

LogFile::~LogFile() = default;

int LogFile::keep(const std::string& program, const std::function<int()>& run) {
    if (!file_) return run();
    try {
        return run();
    } catch (const AlreadyTold&) {
        throw;
    } catch (const std::exception& failure) {
        const bool is_ours = dynamic_cast<const Error*>(&failure) != nullptr;
        file_->add(program + ": " + (is_ours ? failure.what() : exception_text(failure)));
        throw;
    }
}

}  // namespace lockstep::launcher
