import { basename, dirname } from 'node:path'
import type { Rule } from './rule.ts'
import { entryPoints, importsOf, packageName, packageOf, sourceFiles, targetOf } from './workspace.ts'

/** The error for an import that the rules forbid, with the alternative; undefined if they allow it. */
export function importProblem(rules: readonly Rule[], file: string, specifier: string): string | undefined {
  const rule = ruleFor(rules, file)
  if (!rule) return `${file} has no import rule: add its folder to tests/architecture/import-rules.ts`
  if (entryOf(rule, file, specifier) !== undefined) return undefined
  const found = `${file} imports ${specifier}`
  const target = targetOf(file, specifier)
  if (target !== undefined && specifier.startsWith('.')) {
    if (packageOf(target) === packageOf(file)) return `${found}: ${rule.instead}`
    return `${found}, a file of another package: import an entry point of ${packageOf(target).name} (exports in its package.json)`
  }
  if (target === undefined && specifier.startsWith('@parley/'))
    return `${found}, which is no entry point: use one of ${[...entryPoints.keys()].join(', ')}, or add it to exports`
  return `${found}: ${rule.instead}`
}

/**
 * The error for an import of a package: only dependencies of the file's own package are allowed. Undefined if the import is allowed.
 */
export function dependencyProblem(file: string, specifier: string): string | undefined {
  if (specifier.startsWith('.') || specifier.startsWith('node:')) return undefined
  const { name, folder, dependencies } = packageOf(file)
  const imported = packageName(specifier)
  if (dependencies.has(imported) || folder === '.' || typesOnly.has(imported)) return undefined
  return `${file} imports ${imported}, which ${name} does not depend on: add it to dependencies in ${folder}/package.json`
}

/** Packages of which only types are imported: they are installed to build Parley, not with Parley. */
export const typesOnly: ReadonlySet<string> = new Set(['@anthropic-ai/claude-agent-sdk'])

/** Entries of the rules that no import needs. */
export function unusedEntries(rules: readonly Rule[]): string[] {
  const used = new Map(rules.map((rule) => [rule, new Set<string>()]))
  for (const file of sourceFiles()) {
    const rule = ruleFor(rules, file)
    if (!rule) continue
    for (const specifier of importsOf(file)) {
      const entry = entryOf(rule, file, specifier)
      if (entry !== undefined) used.get(rule)?.add(entry)
    }
  }
  return rules.flatMap((rule) =>
    [...rule.mayImport, ...rule.packages]
      .filter((entry) => !used.get(rule)?.has(entry))
      .map((entry) => `no file of ${rule.folder} imports ${entry}: remove it from the rule`),
  )
}

function ruleFor(rules: readonly Rule[], file: string): Rule | undefined {
  return rules.find(({ folder }) => isIn(file, folder))
}

/**
 * The entry of the rule that allows the import. For an import within the folder, the entry is the folder
 * itself.
 */
function entryOf(rule: Rule, file: string, specifier: string): string | undefined {
  const entries = [rule.folder, ...rule.mayImport, ...rule.packages, ...(rule.always ?? [])]
  const target = targetOf(file, specifier)
  if (!specifier.startsWith('.')) {
    const name = specifier.startsWith('@parley/') ? specifier : packageName(specifier)
    return entries.find((entry) => entry === name)
  }
  if (target === undefined || packageOf(target) !== packageOf(file)) return undefined
  return entries.find((entry) => isIn(target, entry))
}

/**
 * True if the file belongs to an entry. `folder/*` names the files of a folder without its index.ts and its
 * subfolders.
 */
function isIn(file: string, entry: string): boolean {
  if (entry.endsWith('/*')) return dirname(file) === entry.slice(0, -2) && basename(file) !== 'index.ts'
  return file === entry || file.startsWith(`${entry}/`)
}
