#pragma once
// Copies of buffers that blocks read or write instead: what cache_read and cache_write share.

#include <functional>

#include "schedule/state.h"

namespace tessera::schedule {

/// A position between statements: of the body of a loop, or of the scope where `loop` is null.
struct Site {
  const For* loop = nullptr;
  size_t position = 0;
};

/// for ax0, ax1: with block(name): target[v0, v1] = source[v0, v1]   over `region`
Stmt copy_nest(const Buffer& source, const Buffer& target, const String& name, const Array<Range>& region);

/// Right behind the producer, inside every loop that it shares with one of the consumers behind it.
Site site_behind(const Cursor& producer, const std::vector<Cursor>& consumers, const BlockRealize* scope);
/// The loops of `cursor` inside the site.
std::vector<const For*> loops_inside(const Cursor& cursor, const Site& site);
/// Tells the analyzer what the axes of the blocks around run through.
void bind_axes_around(const Cursor& cursor, arith::Analyzer& analyzer);
/// Tells the analyzer what the loops around the site run through.
void bind_outside(const Cursor& cursor, const Site& site, arith::Analyzer& analyzer);

/// Gives the scope one more buffer and the copy at the site; `change` is made to its blocks.
void insert_copy(State& state, const GlobalVar& function, const BlockRealize* scope, const Site& site, const Stmt& nest,
                 const Buffer& extra, const std::function<Stmt(const BlockRealize*)>& change);

bool are_covered(const State& state, const GlobalVar& function, const std::vector<Cursor>& consumers);
/// Rejects the copy where it would come too early or be read too late; `before` tells whether all was well without it.
void require_covered(const State& state, const BlockRef& copy, bool before);

}  // namespace tessera::schedule
