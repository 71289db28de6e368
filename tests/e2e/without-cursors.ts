/**
 * Messages of a chat without the cursors of their pages. An event that no message shows, such as a snapshot, moves the
 * cursor of a page that is loaded later.
 */
export function withoutCursors(messages: readonly { readonly metadata?: unknown }[]) {
  return messages.map(({ metadata, ...message }) => {
    const { cursor: _, ...kept } = (metadata ?? {}) as Readonly<Record<string, unknown>>
    return { ...message, metadata: kept }
  })
}
