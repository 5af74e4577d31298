// SPDX-License-Identifier: Apache-2.0
#include "runtime/comm/secret/pmix_client.hpp"

#include <dlfcn.h>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <thread>
#include <utility>

namespace lockstep::comm {

namespace {

constexpr int success = 0;
constexpr std::uint8_t everywhere = 3;  // PMIX_GLOBAL
constexpr std::uint16_t bool_type = 1;
constexpr std::uint16_t string_type = 3;
constexpr std::uint16_t int_type = 6;
constexpr int daemon_answer_ms = 5'000;
constexpr const char* host_key = "pmix.hname";
constexpr std::string_view collect_key = "pmix.collect";
constexpr std::string_view timeout_key = "pmix.timeout";

struct Process {
    std::array<char, 256> name_space{};
    std::uint32_t rank = 0;
};

// The struct is large enough for every kind of value; this file uses only strings, booleans and
// integers.
struct Value {
    std::uint16_t type = 0;
    union {
        char* string = nullptr;
        bool truth;
        int number;
    };
    std::array<std::byte, 64> rest{};
};

struct Info {
    std::array<char, 512> key{};
    std::uint32_t directives = 0;
    Value value;
};

Process process_of(const std::string& name_space, int rank) {
    Process process;
    name_space.copy(process.name_space.data(), process.name_space.size() - 1);
    process.rank = static_cast<std::uint32_t>(rank);
    return process;
}

// Some of the library's calls wait for a daemon without a time limit. The detached thread keeps
// waiting when the caller gives up.
template <class Result>
std::future<Result> begin(std::function<Result()> call) {
    const auto promise = std::make_shared<std::promise<Result>>();
    auto answer = promise->get_future();
    std::thread([promise, call = std::move(call)] { promise->set_value(call()); }).detach();
    return answer;
}

template <class Result>
std::optional<Result> within(int timeout_ms, std::function<Result()> call) {
    auto answer = begin<Result>(std::move(call));
    if (answer.wait_for(std::chrono::milliseconds(timeout_ms)) == std::future_status::timeout) {
        return std::nullopt;
    }
    return answer.get();
}

}  // namespace

// Holds the functions used from PMIx, which are the same in its versions 2 to 5. They are looked up
// when needed, so that neither a build nor a run requires the library.
struct PmixClient::Library {
    int (*initialized)() = nullptr;
    int (*init)(Process*, const void* info, std::size_t infos) = nullptr;
    int (*finalize)(const void* info, std::size_t infos) = nullptr;
    int (*put)(std::uint8_t scope, const char* key, Value*) = nullptr;
    int (*commit)() = nullptr;
    int (*get)(const Process*, const char* key, const void* info, std::size_t infos,
               Value**) = nullptr;
    int (*fence)(const Process*, std::size_t processes, const Info*, std::size_t infos) = nullptr;

    // Returns an empty result if `owner` has not put a string under `key` within a second.
    std::optional<std::string> ask(const Process& owner, const std::string& key) const {
        Info limit;
        timeout_key.copy(limit.key.data(), limit.key.size() - 1);
        limit.value.type = int_type;
        limit.value.number = 1;
        Value* value = nullptr;
        if (get(&owner, key.c_str(), &limit, 1, &value) != success) return std::nullopt;
        if (value == nullptr || value->type != string_type) return std::nullopt;
        std::string text(value->string);
        std::free(value->string);
        std::free(value);
        return text;
    }

    // Returns null if this process does not have the library. The library is never closed because
    // its threads go on running.
    static std::shared_ptr<const Library> open(const char* file, int flags) {
        void* handle = ::dlopen(file, RTLD_NOW | flags);
        auto library = std::make_shared<Library>();
        return handle != nullptr && library->find_all(handle) ? library : nullptr;
    }

    // Returns MPI's PMIx, whether or not it has joined the daemon. Open MPI 4 may contain its own
    // PMIx in one of the first two files.
    static std::shared_ptr<const Library> of_mpi() {
        for (const char* file : {"libopen-pal.so.40", "mca_pmix_pmix3x.so", "libpmix.so.2"}) {
            if (auto library = open(file, RTLD_NOLOAD)) return library;
        }
        return nullptr;
    }

private:
    bool find_all(void* handle) {
        return find(handle, "PMIx_Initialized", initialized) && find(handle, "PMIx_Init", init) &&
               find(handle, "PMIx_Finalize", finalize) && find(handle, "PMIx_Put", put) &&
               find(handle, "PMIx_Commit", commit) && find(handle, "PMIx_Get", get) &&
               find(handle, "PMIx_Fence", fence);
    }

    template <class Function>
    static bool find(void* handle, const char* name, Function& function) {
        function = reinterpret_cast<Function>(::dlsym(handle, name));
        return function != nullptr;
    }
};

PmixClient::PmixClient(std::shared_ptr<const Library> library, std::string name_space)
    : library_(std::move(library)), name_space_(std::move(name_space)) {}

std::unique_ptr<PmixClient> PmixClient::connect() {
    auto library = Library::of_mpi();
    return join(library != nullptr ? library : Library::open("libpmix.so.2", RTLD_LOCAL));
}

std::unique_ptr<PmixClient> PmixClient::of_mpi() {
    const auto library = Library::of_mpi();
    if (library == nullptr) return nullptr;
    const auto joined =  // this call may wait for the end of PMIx_Init
        within<bool>(daemon_answer_ms, [library] { return library->initialized() != 0; });
    return joined.value_or(false) ? join(library) : nullptr;
}

std::unique_ptr<PmixClient> PmixClient::join(const std::shared_ptr<const Library>& library) {
    const char* name_space = std::getenv("PMIX_NAMESPACE");
    if (name_space == nullptr || library == nullptr) return nullptr;
    // If there is no daemon, PMIx reports this process as a job of its own.
    const auto joined = within<bool>(daemon_answer_ms, [library, job = std::string(name_space)] {
        Process self;
        return library->init(&self, nullptr, 0) == success && job == self.name_space.data();
    });
    if (!joined.value_or(false)) return nullptr;
    return std::unique_ptr<PmixClient>(new PmixClient(library, name_space));
}

// A daemon may take a process that ends without this call for a crashed one and end the others.
PmixClient::~PmixClient() {
    within<int>(daemon_answer_ms, [library = library_] { return library->finalize(nullptr, 0); });
}

bool PmixClient::put(const std::string& key, const std::string& value) {
    const auto done = within<bool>(daemon_answer_ms, [library = library_, key, text = value] {
        std::string copy = text;
        Value entry;
        entry.type = string_type;
        entry.string = copy.data();
        return library->put(everywhere, key.c_str(), &entry) == success &&
               library->commit() == success;
    });
    return done.value_or(false);
}

// A question that reaches Slurm's daemon before the value is there is not answered when the value
// arrives, so that the question is put again every second.
std::optional<std::string> PmixClient::get(int rank, const std::string& key, int timeout_ms) const {
    using Clock = std::chrono::steady_clock;
    using Found = std::optional<std::string>;
    const Process owner = process_of(name_space_, rank);
    const auto end = Clock::now() + std::chrono::milliseconds(timeout_ms);
    const auto answer = within<Found>(timeout_ms, [library = library_, key, owner, end]() -> Found {
        do {
            const auto asked = Clock::now();
            if (auto found = library->ask(owner, key)) return found;
            std::this_thread::sleep_until(asked + std::chrono::milliseconds(200));
        } while (Clock::now() < end);
        return std::nullopt;
    });
    return answer.value_or(std::nullopt);
}

std::future<bool> PmixClient::fence() const {
    return begin<bool>([library = library_] {
        Info collect;
        collect_key.copy(collect.key.data(), collect.key.size() - 1);
        collect.value.type = bool_type;
        collect.value.truth = true;
        return library->fence(nullptr, 0, &collect, 1) == success;
    });
}

std::optional<std::string> PmixClient::host_of(int rank) const {
    return get(rank, host_key, daemon_answer_ms);
}

}  // namespace lockstep::comm
