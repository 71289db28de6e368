import { expect, it } from 'vitest'
import { importsOf, sourceFiles, targetOf, web } from './workspace.ts'

it('the files of the console have no import cycles, of values or of types', () => {
  const files = sourceFiles().filter((file) => file.startsWith(`${web}/`))
  expect(files.length).toBeGreaterThan(100)
  expect(importCycles(files)).toEqual([])
})

/** One cycle per file that closes one, as the path of files from the file back to itself. */
function importCycles(files: readonly string[]): string[] {
  const cycles: string[] = []
  const done = new Set<string>()
  const visit = (file: string, path: readonly string[]) => {
    if (path.includes(file)) cycles.push([...path.slice(path.indexOf(file)), file].join(' -> '))
    if (path.includes(file) || done.has(file)) return
    const targets = importsOf(file).map((specifier) => targetOf(file, specifier.replace(/\?.*/, '')))
    for (const target of targets) if (target && files.includes(target)) visit(target, [...path, file])
    done.add(file)
  }
  for (const file of files) visit(file, [])
  return cycles
}
