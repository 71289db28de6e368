import type { SessionFolder } from '../core/session-folder.ts'

const sessionId = 'ses_1'

/** Restores paths to a tree, with the steps of a rewind. */
export async function restoreTo(
  folders: SessionFolder,
  folder: string,
  { tree, paths }: { readonly tree: string; readonly paths: readonly string[] },
) {
  const { now } = await folders.compare(folder, { sessionId, trees: [tree] })
  const planned = await folders.plan(folder, { sessionId, now: now.tree, tree, paths })
  const restored = await folders.move(folder, { sessionId, from: now.tree, to: planned.tree })
  return { ...restored, left: [...planned.left, ...restored.left] }
}
