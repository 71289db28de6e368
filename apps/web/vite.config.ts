import { createHash } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import tailwindcss from '@tailwindcss/vite'
import react from '@vitejs/plugin-react'
import { defineConfig, type Plugin } from 'vite'

/** The built page lies in the server's package, where the server looks for it, in development and when published. */
export const builtConsole = fileURLToPath(new URL('../../packages/server/dist/console', import.meta.url))

/**
 * What describes the wire, in words and as JSON Schema, is for the server's documents, and not every check that zod knows is
 * made: the page would only carry it.
 */
function withoutUnused(): Plugin {
  const text = String.raw`(?:'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")`
  const description = new RegExp(String.raw`\.meta\(\{\s*description:\s*${text},?\s*\}\)`, 'g')
  const summary = new RegExp(String.raw`^( +summary:\s*)${text},$`, 'gm')
  return {
    name: 'parley-without-unused',
    enforce: 'pre',
    transform(code, id) {
      if (/[\\/]zod[\\/]v4[\\/]core[\\/](json-schema-processors|to-json-schema)\.js$/.test(id))
        return { code: exportingNothing(code), map: null }
      if (/[\\/]zod[\\/]v4[\\/]classic[\\/]schemas\.js$/.test(id))
        return { code: withoutUnusedChecks(code), map: null }
      if (!/[\\/]packages[\\/]protocol[\\/]src[\\/][\w-]+\.ts$/.test(id)) return undefined
      const plain = code.replace(description, '').replace(summary, "$1'',")
      return { code: /[\\/](api|access-routes)\.ts$/.test(id) ? withoutShapes(plain) : plain, map: null }
    },
  }
}

/** The page asks for routes and takes what it is given: what they take and give is checked by the server. */
function withoutShapes(code: string): string {
  const shape = /^ {4}(?:params|query|body|reply):.*\n(?:(?: {5}| {4}[\])}]).*\n)*/gm
  if (!shape.test(code)) throw new Error('The routes are written otherwise by now: see withoutShapes.')
  return code.replace(shape, '')
}

/** A module with the same names, all of which say that they are not there when they are used. */
function exportingNothing(code: string): string {
  const declared = [...code.matchAll(/^export (?:const|function) (\w+)/gm)].map(([, name]) => name)
  const renamed = [...code.matchAll(/^export \{ \w+ as (\w+) \};?$/gm)].map(([, name]) => name)
  const names = [...declared, ...renamed].map((name) => `nothing as ${name}`)
  return `const nothing = () => () => { throw new Error('The page makes no JSON Schema.') }
export { ${names.join(', ')} }`
}

/**
 * Without `z.string().email()` and its like, of which the wire has none and each brings its class and its expression along;
 * and without checks made of text at run time, which the page's policy forbids anyway.
 */
function withoutUnusedChecks(code: string): string {
  const format = /^ {4}\w+\(params\) \{\s+return this\.check\(core\._\w+\(Zod\w+, params\)\);\s+\},$/gm
  const compiled = 'core.$ZodObjectJIT.init('
  if (!format.test(code) || !code.includes(compiled))
    throw new Error('zod is written otherwise by now: see withoutUnusedChecks.')
  return code.replace(format, '').replace(compiled, 'core.$ZodObject.init(')
}

/**
 * Tells the service worker what the page is made of, which only the build knows. The grammars of languages are not
 * among it: they are most of the bytes, and code without colours can still be read.
 */
function withKeptFiles(): Plugin {
  const keptAsset = /\.(css|woff2)$|\.worker-/
  const isGrammar = (chunk: { facadeModuleId: string | null; moduleIds: string[] }) =>
    [chunk.facadeModuleId ?? '', ...chunk.moduleIds].some((id) => /[\\/]@?shiki.*[\\/]langs[\\/]/.test(id))
  return {
    name: 'parley-kept-files',
    apply: 'build',
    writeBundle({ dir = builtConsole }, bundle) {
      const files = Object.values(bundle)
        .filter((file) => (file.type === 'chunk' ? !isGrammar(file) : keptAsset.test(file.fileName)))
        .map(({ fileName }) => `/${fileName}`)
      const hash = createHash('sha256').update(files.join())
      for (const beside of ['index.html', 'first.js']) hash.update(readFileSync(join(dir, beside)))
      const script = join(dir, 'sw.js')
      const filled = readFileSync(script, 'utf8')
        .replace('const files = []', `const files = ${JSON.stringify(files)}`)
        .replace(
          "const name = 'parley-page'",
          `const name = 'parley-page-${hash.digest('hex').slice(0, 12)}'`,
        )
      writeFileSync(script, filled)
    },
  }
}

export default defineConfig({
  root: import.meta.dirname,
  plugins: [withoutUnused(), react(), tailwindcss(), withKeptFiles()],
  resolve: { conditions: ['source', 'module', 'browser', 'development|production'] },
  worker: { format: 'es' },
  build: {
    outDir: builtConsole,
    emptyOutDir: true,
    target: 'es2023',
    // A data: address would need a wider content security policy than the page has.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
    chunkSizeWarningLimit: 900,
    // All that the page begins with in one file: cut into pieces it packs worse.
    rolldownOptions: {
      // A schema that nobody uses is left out: making one has no effect.
      treeshake: { manualPureFunctions: ['z'] },
      output: { codeSplitting: { groups: [{ name: 'page', tags: ['$initial'] }] } },
    },
  },
  server: { proxy: { '/api': { target: 'http://127.0.0.1:4747', ws: true } } },
})
