type Searchable = {
  readonly title: string
  readonly cwd: string
  readonly agent: { readonly id: string; readonly name: string }
}

/** The items that contain every word of the query in the title, the folder or the agent's name. */
export function matching<Item extends Searchable>(items: readonly Item[], query: string): readonly Item[] {
  const wanted = query.toLowerCase().split(/\s+/).filter(Boolean)
  if (wanted.length === 0) return items
  return items.filter(({ title, cwd, agent }) => {
    const text = `${title} ${cwd} ${agent.id} ${agent.name}`.toLowerCase()
    return wanted.every((word) => text.includes(word))
  })
}
