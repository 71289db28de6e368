/**
 * Replaces, in `event.ts` of the protocol, the names of events that are derived from the schemas by a list. The page does
 * not need the schemas otherwise.
 */
export function withListedEvents(code: string): string {
  const names = [...code.matchAll(/^ {2}event\(\s*'([^']+)'/gm)].map(([, name]) => name)
  const derived =
    /^const schemas = new Map[\s\S]*?^export const eventTypes: ReadonlySet<string> = new Set\(schemas\.keys\(\)\)$/m
  if (names.length === 0 || !derived.test(code))
    throw new Error('The events have another format: update withListedEvents.')
  return code.replace(
    derived,
    `const schemas = new Map()\nexport const eventTypes = new Set(${JSON.stringify(names)})`,
  )
}
