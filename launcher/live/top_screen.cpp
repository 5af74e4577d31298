// SPDX-License-Identifier: Apache-2.0
#include "launcher/live/top_screen.hpp"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <termios.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <csignal>
#include <iostream>
#include <memory>
#include <mutex>
#include <string_view>
#include <thread>

#include "launcher/live/signals.hpp"
#include "launcher/live/top_picture.hpp"
#include "launcher/text/exception_text.hpp"
#include "launcher/text/terminal.hpp"
#include "runtime/core/error.hpp"
#include "runtime/core/file_descriptor.hpp"
#include "runtime/core/printable.hpp"

namespace lockstep::launcher::live {

namespace {

void put(const std::string& text) {
    std::cout << text;
    flush_output();
}

// Takes the whole terminal, without echo, and gives it back.
class WholeTerminal {
public:
    WholeTerminal() : keys_(::tcgetattr(STDIN_FILENO, &before_) == 0) { take(); }
    ~WholeTerminal() {
        try {
            give_back();
        } catch (const Error&) {
            // The terminal is gone.
        }
    }
    WholeTerminal(const WholeTerminal&) = delete;
    WholeTerminal& operator=(const WholeTerminal&) = delete;

    bool has_keys() const noexcept { return keys_; }

    void take() const {
        termios now = before_;
        now.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO);
        now.c_cc[VMIN] = 0;
        now.c_cc[VTIME] = 0;
        if (keys_) ::tcsetattr(STDIN_FILENO, TCSANOW, &now);
        put("\x1b[?1049h\x1b[?25l");
    }
    void give_back() const {
        if (keys_) ::tcsetattr(STDIN_FILENO, TCSANOW, &before_);
        put("\x1b[?25h\x1b[?1049l");
    }

private:
    termios before_{};
    bool keys_;
};

struct Window {
    std::size_t columns = 80, rows = 24;
};

Window window() {
    winsize size{};
    if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0 || size.ws_row == 0)
        return {};
    return {size.ws_col, size.ws_row};
}

void draw(const std::vector<std::string>& lines) {
    std::string text = "\x1b[H";
    for (std::size_t i = 0; i < lines.size(); ++i)
        text += (i == 0 ? "" : "\r\n") + lines[i] + "\x1b[K";
    put(text + "\x1b[J");
}

// Reads the folder on a thread of its own, because a file system may hang.
class Looking {
public:
    explicit Looking(const std::string& folder) : shared_(std::make_shared<Shared>(folder)) {
        std::thread([shared = shared_] { shared->look_again_and_again(); }).detach();
    }
    Looking(const Looking&) = delete;
    Looking& operator=(const Looking&) = delete;
    ~Looking() {
        constexpr std::chrono::seconds longest(1);
        std::unique_lock lock(shared_->mutex);
        shared_->stops = true;
        shared_->changed.notify_all();
        shared_->changed.wait_for(lock, longest, [this] { return !shared_->works; });
    }

    const FileDescriptor& news() const noexcept { return shared_->news; }
    // Returns the newest view, or a line that says why there is none.
    TopView newest() const {
        std::uint64_t count = 0;
        (void)!::read(shared_->news.raw(), &count, sizeof count);
        const std::lock_guard lock(shared_->mutex);
        return shared_->view;
    }

private:
    struct Shared {
        explicit Shared(const std::string& of)
            : folder(of), news(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
            if (!news) throw_errno("cannot make an event", "eventfd");
            view.folder = of;
            view.state.text = "The folder is being read";
        }

        void look_again_and_again() {
            using Clock = std::chrono::steady_clock;
            constexpr int share_of_core = 10;
            constexpr Clock::duration shortest = std::chrono::seconds(1);
            for (bool goes_on = true; goes_on;) {
                const auto begin = Clock::now();
                TopView seen = look();
                const auto pause = std::max(shortest, share_of_core * (Clock::now() - begin));
                std::unique_lock lock(mutex);
                view = std::move(seen);
                const std::uint64_t one = 1;
                (void)!::write(news.raw(), &one, sizeof one);
                goes_on = !changed.wait_for(lock, pause, [this] { return stops; });
            }
            const std::lock_guard lock(mutex);
            works = false;
            changed.notify_all();
        }

        TopView look() const {
            try {
                return look_at(folder);
            } catch (const std::exception& error) {
                TopView none;
                none.folder = folder;
                none.state.text = exception_text(error);
                return none;
            }
        }

        const std::string folder;
        const FileDescriptor news;
        std::mutex mutex;  // guards the members below
        std::condition_variable changed;
        bool stops = false, works = true;
        TopView view;
    };

    std::shared_ptr<Shared> shared_;
};

// Returns whether one of the keys ends the program. At the end of the input there are no more keys.
bool keys_end(bool& has_keys) {
    char keys[64];
    const ssize_t count = ::read(STDIN_FILENO, keys, sizeof keys);
    if (count <= 0) {
        has_keys = false;
        return count == 0;
    }
    const std::string_view typed(keys, static_cast<std::size_t>(count));
    return typed.find_first_of("qQ\x04") != std::string_view::npos;
}

// Ctrl-Z gives the terminal back until the program goes on.
void pause(const WholeTerminal& terminal) {
    terminal.give_back();
    ::raise(SIGSTOP);
    terminal.take();
}

}  // namespace

void print_top(const std::string& folder) {
    const auto columns = static_cast<std::size_t>(output_columns());
    for (const std::string& line : picture(look_at(folder), columns, 0)) std::cout << line << '\n';
}

void show_top(const std::string& folder) {
    const FileDescriptor signals = watched_signals({SIGWINCH, SIGTSTP});
    const Looking looking(folder);
    const WholeTerminal terminal;
    bool has_keys = terminal.has_keys();
    while (true) {
        const Window size = window();
        draw(picture(looking.newest(), size.columns, size.rows));
        pollfd watched[3] = {{signals.raw(), POLLIN, 0},
                             {looking.news().raw(), POLLIN, 0},
                             {has_keys ? STDIN_FILENO : -1, POLLIN, 0}};
        if (::poll(watched, 3, -1) < 0) continue;
        if (watched[2].revents != 0 && keys_end(has_keys)) return;
        if (watched[0].revents == 0) continue;
        const int signal = next_signal(signals);
        if (signal == SIGTSTP) pause(terminal);
        if (signal != SIGTSTP && signal != SIGWINCH) return;
    }
}

}  // namespace lockstep::launcher::live
