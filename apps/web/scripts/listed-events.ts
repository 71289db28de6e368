/**
 * Writes the names of the events as a list into `event.ts` of the protocol. There they follow from the schemas, which the
 * page does not need otherwise.
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
