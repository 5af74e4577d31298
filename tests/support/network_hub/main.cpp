// SPDX-License-Identifier: Apache-2.0
// network_hub PROCESS...: gives the network namespace of each process a device eth0 and carries
// frames between these devices. Needs root and /dev/net/tun, but none of the kernel's packet
// schedulers. It prints "ready", and later a line for each frame that it does not simply carry:
// cut, lost, delayed or reset. It obeys the lines of standard input until its end:
//   loss N     loses N of 100 frames
//   delay N    lets each frame arrive N ms later
//   cut A B    loses all frames from the A-th device to the B-th one
//   reset A P MS   for MS ms, resets the A-th device's TCP connections over which something is sent
//                  from or to port P; 0: any port
#include <fcntl.h>
#include <linux/if.h>
#include <linux/if_tun.h>
#include <poll.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <map>
#include <random>
#include <set>
#include <sstream>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/network_hub/tcp_reset.hpp"

using namespace lockstep::tests;

namespace {

using Clock = std::chrono::steady_clock;

int must(int result, const std::string& what) {
    if (result < 0) throw std::runtime_error(what + ": " + std::strerror(errno));
    return result;
}

int device_in_namespace_of(const std::string& process) {
    const std::string path = "/proc/" + process + "/ns/net";
    const int space = must(::open(path.c_str(), O_RDONLY | O_CLOEXEC), path);
    must(::setns(space, CLONE_NEWNET), path);
    ::close(space);
    const int device = must(::open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC), "tun");
    ifreq request{};
    std::strcpy(request.ifr_name, "eth0");
    request.ifr_flags = IFF_TAP | IFF_NO_PI;
    must(::ioctl(device, TUNSETIFF, &request), "eth0");
    return device;
}

void say(const char* line) {
    std::puts(line);
    std::fflush(stdout);
}

class Hub {
public:
    explicit Hub(std::vector<int> devices) : devices_(std::move(devices)) {}

    // Carries frames until standard input ends.
    void run() {
        while (!ended_) {
            wait();
            for (std::size_t from = 0; from < devices_.size(); ++from) take(from);
            deliver();
        }
    }

private:
    struct Delivery {
        std::size_t to;
        std::string frame;
    };

    void wait() {
        std::vector<pollfd> files{{STDIN_FILENO, POLLIN, 0}};
        for (const int device : devices_) files.push_back({device, POLLIN, 0});
        int wait_ms = -1;
        if (!waiting_.empty()) {
            const auto left = std::chrono::ceil<std::chrono::milliseconds>(waiting_.begin()->first -
                                                                           Clock::now());
            wait_ms = static_cast<int>(std::max<std::int64_t>(left.count(), 0));
        }
        must(::poll(files.data(), files.size(), wait_ms), "poll");
        if (files.front().revents != 0) obey();
    }

    void obey() {
        std::array<char, 4096> text;
        const auto bytes = ::read(STDIN_FILENO, text.data(), text.size());
        ended_ = bytes <= 0;
        if (ended_) return;
        std::istringstream lines(std::string(text.data(), static_cast<std::size_t>(bytes)));
        for (std::string line; std::getline(lines, line);) {
            std::istringstream words(line);
            std::string verb;
            words >> verb;
            if (verb == "loss") words >> loss_percent_;
            if (verb == "delay") words >> delay_ms_;
            if (std::size_t from = 0, to = 0; verb == "cut" && words >> from >> to)
                cut_.emplace(from, to);
            int milliseconds = 0;
            if (verb == "reset" && words >> reset_device_ >> reset_port_ >> milliseconds)
                reset_until_ = Clock::now() + std::chrono::milliseconds(milliseconds);
        }
    }

    void take(std::size_t from) {
        std::array<char, 65536> frame;
        for (;;) {
            const auto bytes = ::read(devices_[from], frame.data(), frame.size());
            if (bytes <= 0) return;
            const auto due = Clock::now() + std::chrono::milliseconds(delay_ms_);
            learn(frame.data(), from);
            for (std::size_t to = 0; to < devices_.size(); ++to) {
                if (!leads_to(frame.data(), to)) continue;
                if (to == from || falls_out(from, to)) continue;
                const std::string_view sent(frame.data(), static_cast<std::size_t>(bytes));
                if ((from == reset_device_ || to == reset_device_) && reset(sent, from, to))
                    continue;
                if (delay_ms_ > 0) say("delayed");
                waiting_.emplace(
                    due, Delivery{to, std::string(frame.data(), static_cast<std::size_t>(bytes))});
            }
        }
    }

    bool falls_out(std::size_t from, std::size_t to) {
        const bool cut = cut_.contains({from, to});
        const bool lost = static_cast<int>(random_() % 100) < loss_percent_;
        if (cut || lost) say(cut ? "cut" : "lost");
        return cut || lost;
    }

    // A frame begins with the addresses of its receiver and its sender.
    void learn(const char* frame, std::size_t from) {
        device_of_[std::string(frame + address_bytes, address_bytes)] = from;
    }
    bool leads_to(const char* frame, std::size_t to) const {
        const auto known = device_of_.find(std::string(frame, address_bytes));
        return known == device_of_.end() || known->second == to;
    }

    // Returns whether the frame's connection was reset.
    bool reset(std::string_view frame, std::size_t from, std::size_t to) {
        if (Clock::now() >= reset_until_) return false;
        const auto ports = ports_of_segment(frame);
        if (!ports) return false;
        const bool meant =
            reset_port_ == 0 || ports->first == reset_port_ || ports->second == reset_port_;
        if (!meant) return false;
        say("reset");
        auto [to_sender, to_receiver] = resets_of(frame);
        waiting_.emplace(Clock::now(), Delivery{from, std::move(to_sender)});
        waiting_.emplace(Clock::now(), Delivery{to, std::move(to_receiver)});
        return true;
    }

    void deliver() {
        const auto now = Clock::now();
        while (!waiting_.empty() && waiting_.begin()->first <= now) {
            const Delivery& next = waiting_.begin()->second;
            // A device that is not up yet loses its frames, as a real one.
            [[maybe_unused]] const auto ignored =
                ::write(devices_[next.to], next.frame.data(), next.frame.size());
            waiting_.erase(waiting_.begin());
        }
    }

    static constexpr std::size_t address_bytes = 6;
    std::vector<int> devices_;
    std::map<std::string, std::size_t> device_of_;
    std::multimap<Clock::time_point, Delivery> waiting_;
    std::set<std::pair<std::size_t, std::size_t>> cut_;
    std::mt19937 random_{7};
    int loss_percent_ = 0, delay_ms_ = 0;
    std::size_t reset_device_ = 0;
    std::uint16_t reset_port_ = 0;
    Clock::time_point reset_until_;
    bool ended_ = false;
};

}  // namespace

int main(int argc, char** argv) {
    try {
        std::vector<int> devices;
        for (int i = 1; i < argc; ++i) devices.push_back(device_in_namespace_of(argv[i]));
        say("ready");
        Hub(std::move(devices)).run();
        return 0;
    } catch (const std::exception& error) {
        std::fprintf(stderr, "network_hub: %s\n", error.what());
        return 77;
    }
}
