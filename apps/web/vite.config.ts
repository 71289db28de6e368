import { createHash } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import tailwindcss from '@tailwindcss/vite'
import react from '@vitejs/plugin-react'
import { defineConfig, type Plugin } from 'vite'
import { withListedEvents } from './scripts/listed-events.ts'
import { withoutZod } from './scripts/without-zod.ts'

/** The build is written into the server package, which serves it in development and when published. */
export const builtConsole = fileURLToPath(new URL('../../packages/server/dist/console', import.meta.url))

/** Removes code that the page does not use, to keep it small: descriptions of routes and fields, and the schemas of routes. */
function withoutUnused(): Plugin {
  const text = String.raw`(?:'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")`
  const description = new RegExp(String.raw`\.meta\(\{\s*description:\s*${text},?\s*\}\)`, 'g')
  const summary = new RegExp(String.raw`^( +summary:\s*)${text},$`, 'gm')
  return {
    name: 'parley-without-unused',
    enforce: 'pre',
    transform(code, id) {
      if (!/[\\/]packages[\\/]protocol[\\/]src[\\/][\w-]+\.ts$/.test(id)) return undefined
      const listed = /[\\/]event\.ts$/.test(id) ? withListedEvents(code) : code
      const plain = withPureSchemas(listed.replace(description, '').replace(summary, "$1'',"))
      return { code: /[\\/](api|[\w-]+-routes)\.ts$/.test(id) ? withoutShapes(plain) : plain, map: null }
    },
  }
}

/**
 * Marks the creation of each schema as free of side effects, so that schemas that the page does not use are
 * removed. The bundler treats the functions of zod as pure, but neither the methods of a schema, such as
 * `extend`, nor our own functions.
 */
function withPureSchemas(code: string): string {
  const schema =
    /^((?:export )?const \w+ = )((?:(?:z|[A-Z]\w*)(?:\.|\n +\.)|taggedUnion\(|line\().*(?:\n+[ )\]}].*)*)$/gm
  return code.replace(schema, '$1/* @__PURE__ */ (() => ($2))()')
}

/** Removes the schemas of routes. The page does not validate requests and replies; the server validates requests. */
function withoutShapes(code: string): string {
  const shape = /^ {4}(?:params|query|body|reply):.*\n(?:(?: {5}| {4}[\])}]).*\n)*/gm
  if (!shape.test(code)) throw new Error('The routes have another format: update withoutShapes.')
  return code.replace(shape, '')
}

/**
 * Writes the list of built files into the service worker. Language grammars are left out: they are most of the bytes, and
 * code is readable without highlighting.
 */
function withPrecacheList(): Plugin {
  const precachedAsset = /\.(css|woff2)$|\.worker-/
  const isGrammar = (chunk: { facadeModuleId: string | null; moduleIds: string[] }) =>
    [chunk.facadeModuleId ?? '', ...chunk.moduleIds].some((id) => /[\\/]@?shiki.*[\\/]langs[\\/]/.test(id))
  return {
    name: 'parley-precache-list',
    apply: 'build',
    writeBundle({ dir = builtConsole }, bundle) {
      const files = Object.values(bundle)
        .filter((file) => (file.type === 'chunk' ? !isGrammar(file) : precachedAsset.test(file.fileName)))
        .map(({ fileName }) => fileName)
      const hash = createHash('sha256').update(files.join())
      for (const file of ['index.html', 'first.js']) hash.update(readFileSync(join(dir, file)))
      const script = join(dir, 'sw.js')
      const filled = readFileSync(script, 'utf8')
        .replace('const files = []', `const files = ${JSON.stringify(files)}`)
        .replace("const build = ''", `const build = '${hash.digest('hex').slice(0, 12)}'`)
      writeFileSync(script, filled)
    },
  }
}

export default defineConfig({
  root: import.meta.dirname,
  // Addresses are relative to the base element, in which the server writes the path at which it is reached.
  base: './',
  plugins: [withoutUnused(), withoutZod(), react(), tailwindcss(), withPrecacheList()],
  resolve: { conditions: ['source', 'module', 'browser', 'development|production'] },
  worker: { format: 'es' },
  build: {
    outDir: builtConsole,
    emptyOutDir: true,
    target: 'es2023',
    // The content security policy of the page does not allow `data:` addresses.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
    chunkSizeWarningLimit: 900,
    // The code needed at start is one file, because several files compress worse.
    rolldownOptions: {
      // Creating a schema has no side effect, so unused schemas are removed.
      treeshake: { manualPureFunctions: ['z'] },
      output: { codeSplitting: { groups: [{ name: 'page', tags: ['$initial'] }] } },
    },
  },
  server: { proxy: { '/api': { target: 'http://127.0.0.1:4747', ws: true } } },
})
