// SPDX-License-Identifier: Apache-2.0
#include "launcher/gpu_seat.hpp"

#include <algorithm>
#include <cstring>
#include <map>

#include "runtime/core/error.hpp"

namespace lockstep::launcher {

namespace {

// As it travels: host and UUID, cut off where they are too long to matter.
constexpr std::size_t text_bytes = 64;

void write(const std::string& text, std::byte* to) {
    std::memcpy(to, text.data(), std::min(text.size(), text_bytes - 1));
}

std::string read(const std::byte* from) { return reinterpret_cast<const char*>(from); }

std::vector<GpuUser> gather(comm::Communicator& communicator, const GpuUser& own) {
    std::vector<std::byte> mine(2 * text_bytes);
    write(own.host, mine.data());
    write(own.uuid, mine.data() + text_bytes);
    std::vector<std::byte> all(mine.size() * static_cast<std::size_t>(communicator.size()));
    communicator.all_gather(view_of(mine), view_of(all), "GPUs");
    communicator.finish();
    std::vector<GpuUser> users;
    for (std::size_t at = 0; at < all.size(); at += mine.size())
        users.push_back({read(&all[at]), read(&all[at + text_bytes])});
    return users;
}

Error too_few(const comm::Place& place, std::size_t visible) {
    return Error(ErrorKind::config,
                 std::to_string(visible) + (visible == 1 ? " GPU is" : " GPUs are") +
                     " visible on " + place.host + " for " + std::to_string(place.local_size) +
                     " ranks: start one rank for each GPU, or give --allow-shared-gpu or "
                     "--device cpu");
}

}  // namespace

std::optional<std::size_t> gpu_seat(std::size_t visible, int local_rank,
                                    comm::PlaceSource source) noexcept {
    if (visible == 0) return std::nullopt;
    if (visible == 1) return 0;
    const auto seat = static_cast<std::size_t>(local_rank);
    if (source == comm::PlaceSource::slurm) return seat % visible;
    return seat < visible ? std::optional(seat) : std::nullopt;
}

std::size_t take_gpu_seat(const comm::Place& place, std::size_t visible, SharedGpu shared) {
    if (visible == 0)
        throw Error(ErrorKind::config,
                    "no GPU is visible on " + place.host +
                        ": choose a host with GPUs (srun --gpus-per-node N), or look at "
                        "CUDA_VISIBLE_DEVICES");
    if (const auto seat = gpu_seat(visible, place.local_rank, place.source)) return *seat;
    if (shared == SharedGpu::allowed) return static_cast<std::size_t>(place.local_rank) % visible;
    throw too_few(place, visible);
}

void require_gpu_for_each(const comm::Place& last_rank, std::size_t visible, SharedGpu shared) {
    if (shared == SharedGpu::refused && static_cast<std::size_t>(last_rank.local_rank) >= visible)
        throw too_few(last_rank, visible);
}

std::string shared_gpus(const std::vector<GpuUser>& users) {
    std::map<std::pair<std::string, std::string>, std::vector<std::size_t>> ranks;
    for (std::size_t rank = 0; rank < users.size(); ++rank)
        ranks[{users[rank].host, users[rank].uuid}].push_back(rank);
    std::string text;
    for (const auto& [gpu, sharing] : ranks) {
        if (sharing.size() < 2) continue;
        std::string names;
        for (const std::size_t rank : sharing)
            names += (names.empty() ? "rank " : " and rank ") + std::to_string(rank);
        text += (text.empty() ? "" : "; ") + names + " on " + gpu.first + " share " + gpu.second;
    }
    return text;
}

void require_own_gpus(comm::Communicator& communicator, const GpuUser& own) {
    const std::string sharing = shared_gpus(gather(communicator, own));
    if (!sharing.empty())
        throw Error(ErrorKind::config,
                    sharing +
                        ": start one rank for each GPU (--gpus-per-node N under srun), or give "
                        "--allow-shared-gpu");
}

}  // namespace lockstep::launcher
