import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'

/** The source files of the packages and what they import. */

export const root = resolve(import.meta.dirname, '../..')
export const server = 'packages/server/src'
export const web = 'apps/web/src'

export const workspacePackages = {
  '@parley/protocol': 'packages/protocol/src/index.ts',
  '@parley/protocol/diff': 'packages/protocol/src/diff.ts',
  '@parley/client': 'packages/client/src/index.ts',
  '@parley/client/react': 'packages/client/src/react.ts',
  '@parley/server': `${server}/index.ts`,
  '@parley/server/testing': `${server}/testing/index.ts`,
}

const importPattern =
  /(?:^|\n)\s*(?:import|export)\s[^'"`;]*?from\s*['"]([^'"]+)['"]|import\(\s*['"]([^'"]+)['"]\s*\)|(?:^|\n)import\s*['"]([^'"]+)['"]/g

export function importsOf(file: string): string[] {
  const text = readFileSync(join(root, file), 'utf8')
  return [...text.matchAll(importPattern)].map((match) => match[1] ?? match[2] ?? match[3] ?? '')
}

/** Every file that is not a test, relative to the root of the repository. */
export function sourceFiles(): string[] {
  const folders = ['packages/protocol/src', 'packages/client/src', server, web]
  return folders
    .flatMap((folder) => {
      try {
        return readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' }).map((name) =>
          join(folder, name),
        )
      } catch {
        return []
      }
    })
    .filter((file) => /\.tsx?$/.test(file) && !/\.test\.tsx?$|under-test\.ts$/.test(file))
}

/** The file of this repository that an import names; undefined for another package. */
export function targetOf(file: string, specifier: string): string | undefined {
  if (specifier.startsWith('.')) return relative(root, resolve(root, dirname(file), specifier))
  return (workspacePackages as Record<string, string>)[specifier]
}
