// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

#include "runtime/device/cpu_host_side.hpp"
#include "runtime/files/io_thread.hpp"
#include "runtime/files/scratch_file.hpp"
#include "runtime/train/optim/element_optimizer.hpp"
#include "runtime/train/optim/state_chunks.hpp"

namespace lockstep::train {

// Updates with moments, and maybe a master, that lie in the store's file. An update goes through
// them chunk by chunk: while one is updated, a thread writes the one before and reads the next. No
// more than these three are in memory. state() shows the file itself.
template <class Ctx, class T>
class StoredOptimizer final : public Optimizer<typename Ctx::Space> {
public:
    using Space = typename Ctx::Space;
    using Host = device::HostSide<Ctx>;
    using Rule = ElementOptimizer<Host, T>;

    // `make_rule` makes the optimizer of a target without parts, whose state is the chunks' memory.
    template <class MakeRule>
    StoredOptimizer(const OptimizerOptions& options, const OptimizerTarget<Ctx>& target,
                    const MakeRule& make_rule)
        : store_(target.store),
          file_(target.store.file()),
          host_(target.context),
          chunks_(state_chunks(store_.owned(), options.offload_bytes)),
          slot_values_(chunks_.empty() ? 0
                                       : ScratchFile::bytes_of(chunks_[0].count) / sizeof(float)),
          decays_(lines(options, target)),
          rule_(make_rule(ElementTarget<Host, T>{
              target.table, host_, slot_values_ * std::min(chunks_.size(), slots), {}})) {
        require(is_dry || file_ != nullptr, "a state on disk needs a file");
        if (store_.has_stored_master()) {
            master_ = Kept(slot_values_ * std::min(chunks_.size(), slots));
            columns_.push_back({store_.stored_master().first, master_.view()});
        }
        for (const FlatState<HostSpace>& state : rule_->flat_state())
            add_column(target.table, state);
    }

    OptimizerBytes bytes() const noexcept override {
        return {.device = rule_->bytes().device + master_.size() * sizeof(float) +
                          decays_.size() * sizeof(std::uint32_t),
                .disk = columns_.size() * ScratchFile::bytes_of(store_.packed_size())};
    }
    void begin_threads_with(const std::function<void()>& begin) override { io_.begin_with(begin); }
    void check_readable() const override {
        if (has_updated_) file_->check_readable();
    }
    void update(const kernels::StepState* state) override {
        if constexpr (!is_dry) {
            if (state->skip != 0 || chunks_.empty()) return;
            // What was loaded was written to the file's mapped values.
            if (!std::exchange(has_updated_, true)) file_->flush();
            IoThread::Ticket read = start_reading(0), written = 0;
            for (std::size_t i = 0; i < chunks_.size(); ++i) {
                const IoThread::Ticket here = read;
                // The thread has written the chunk whose memory this takes.
                if (i + 1 < chunks_.size()) read = start_reading(i + 1);
                io_.wait(here);
                for (const ChunkPart& part : chunks_[i].parts) update_part(state, i, part);
                written = start_writing(i);
            }
            io_.wait(written);
        }
    }
    const std::vector<NamedTensor<Space>>& state() const noexcept override {
        return state_.tensors();
    }
    const std::vector<FlatState<Space>>& flat_state() const noexcept override {
        return state_.flat();
    }

private:
    using Kept = device::Memory<float, Host>;
    static constexpr bool is_dry = !std::is_same_v<Space, HostSpace>;
    static constexpr std::size_t slots = 3;  // chunks in memory

    // A value of each element: the master's or one of the rule's.
    struct Column {
        std::uint64_t first = 0;  // byte of the file
        HostView<float> chunks;   // the slots' memory
    };

    static std::vector<std::uint32_t> lines(const OptimizerOptions& options,
                                            const OptimizerTarget<Ctx>& target) {
        const auto ranges = ranges_of(state_chunks(target.store.owned(), options.offload_bytes));
        if constexpr (is_dry)
            return std::vector<std::uint32_t>(
                decay_line_words(target.table, options.weight_decay, ranges));
        else
            return decay_lines(target.table, options.weight_decay, ranges);
    }
    void add_column(const ParameterTable& table, const FlatState<HostSpace>& state) {
        if constexpr (is_dry) {
            columns_.push_back({0, state.values});
            state_.add(table, store_.packed_size(),
                       {state.suffix, {state.values.data(), store_.packed_size()}});
        } else {
            const ScratchRange range = file_->extend(store_.packed_size());
            columns_.push_back({range.first, state.values});
            state_.add(table, store_.packed_size(), {state.suffix, range.values});
        }
    }
    // Returns where a chunk's memory begins in that of the slots.
    std::size_t slot(std::size_t i) const noexcept { return i % slots * slot_values_; }

    // Calls action(file's byte, memory) for what each column has of a chunk, in whole blocks.
    template <class Action>
    void for_each_column(std::size_t i, const Action& action) {
        const std::size_t bytes = ScratchFile::bytes_of(chunks_[i].count);
        for (const Column& column : columns_)
            action(column.first + chunks_[i].first * sizeof(float),
                   column.chunks.subview(slot(i), bytes / sizeof(float)));
    }
    IoThread::Ticket start_reading(std::size_t i) {
        return io_.start([this, i] {
            for_each_column(i, [this](auto first, auto to) { file_->read(first, to); });
        });
    }
    IoThread::Ticket start_writing(std::size_t i) {
        return io_.start([this, i] {
            for_each_column(i, [this](auto first, auto from) { file_->write(first, from); });
        });
    }
    void update_part(const kernels::StepState* state, std::size_t i, const ChunkPart& of) {
        const auto& [first, count, packed] = of.range;
        const OwnedPart& part = store_.owned()[of.part];
        PartOperands<T, HostSpace> operands;
        operands.packed = slot(i) + packed - chunks_[i].first;
        operands.gradient = store_.gradient_sum(part).subview(of.in_part, count);
        operands.master = store_.has_stored_master()
                              ? master_.view().subview(operands.packed, count)
                              : store_.master(part).subview(of.in_part, count);
        operands.compute = compute_range<T>(store_, first, count);
        if (!decays_.empty())
            operands.decays = HostView<const std::uint32_t>(view_of(decays_))
                                  .subview(of.decay_word, kernels::decay_words(count));
        rule_->update_part(state, operands);
    }

    const ParameterStore<Space>& store_;
    const std::shared_ptr<ScratchFile> file_;  // null on a dry device
    Host host_;
    const std::vector<StateChunk> chunks_;
    const std::size_t slot_values_;
    const std::vector<std::uint32_t> decays_;
    std::unique_ptr<Rule> rule_;
    Kept master_;  // the slots of a stored master
    std::vector<Column> columns_;
    OwnedState<Space> state_;
    bool has_updated_ = false;
    IoThread io_;  // last, so that it ends before what it uses
};

}  // namespace lockstep::train
