import type { Plugin } from 'vite'

const stand = '\0parley-schemas'

const schemas = `
const refuse = () => { throw new Error('The page has no schemas: see without-zod.ts.') }
const schemaOf = (parts) => new Proxy({ parse: refuse, safeParse: refuse, ...parts }, {
  get: (own, method, schema) => own[method] ??
    ((more) => method === 'extend' ? schemaOf({ shape: { ...own.shape, ...more } }) : schema),
})
const partsOf = (kind, first, second) =>
  kind === 'enum' || kind === 'union' ? { options: first } : kind === 'discriminatedUnion' ? { options: second }
  : kind === 'literal' ? { value: first } : /object$/i.test(kind) ? { shape: first } : {}
export const z = new Proxy({}, { get: (_, kind) => (...given) => schemaOf(partsOf(kind, ...given)) })`

/** The client checks commands before it sends them. In the page, only the server checks them. */
const commandCheck = /[\\/]packages[\\/]client[\\/]src[\\/]check-command\.ts$/
const unchecked = 'export const checkCommand = (command) => command'

const ownCode = /[\\/](?:apps[\\/]web|packages[\\/](?:client|protocol))[\\/]src[\\/]/
const schemaCheck = /\.safeParse\(|\.safeParse\?\.\(|(?<!\bJSON)\.parse(?:\?\.)?\(/

/**
 * Replaces zod, a tenth of the page, by objects that have the parts of a schema but cannot check a value. The page
 * needs no checks: the server checks what the page sends, and the page trusts its server. The build fails if code in
 * the page checks a value with a schema.
 */
export function withoutZod(): Plugin {
  return {
    name: 'parley-without-zod',
    enforce: 'pre',
    resolveId: (id) => (id === 'zod' ? stand : undefined),
    load(id) {
      if (id === stand) return schemas
      return commandCheck.test(id) ? unchecked : undefined
    },
    generateBundle(_, bundle) {
      for (const file of Object.values(bundle)) {
        if (file.type !== 'chunk') continue
        for (const [id, { code }] of Object.entries(file.modules))
          if (ownCode.test(id) && code !== null && schemaCheck.test(code))
            throw new Error(
              `${id} checks a value with a schema, and the page has no schemas: see withoutZod.`,
            )
      }
    },
  }
}
