#!/usr/bin/env node
// Plain JavaScript that Node 14 can parse, so that a Node that is too old reports this clearly, and so that the
// compile cache is enabled before Node loads its type stripper. Code that needs a newer Node is imported after the
// check.
import { readFileSync } from 'node:fs'
import module from 'node:module'

const manifest = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'))
const oldest = manifest.engines.node.replace(/[^\d.]/g, '')
if (parseInt(process.versions.node, 10) < parseInt(oldest, 10)) {
  process.stderr.write(
    `parley: this is Node ${process.versions.node}; Parley needs Node ${oldest} or newer. Get it from https://nodejs.org\n`,
  )
  process.exit(1)
}
hideSqliteWarning()
module.enableCompileCache()
module.registerHooks({ resolve: withoutLocales })
import('@parley/server/cli').then(({ runProgram }) => runProgram(process))

/**
 * zod exports its messages in 50 languages, one module for each. Parley uses only English, which zod imports
 * separately. An empty module replaces the list of the other languages, which would take 1.5 MiB of memory.
 */
function withoutLocales(specifier, context, next) {
  const isList = specifier === '../locales/index.js' && /\/zod\/v4\//.test(context.parentURL)
  return isList ? { url: 'data:text/javascript,', shortCircuit: true } : next(specifier, context)
}

/**
 * The first releases of Node 24 warn on stderr that node:sqlite is experimental. People who run this program need not
 * see that.
 */
function hideSqliteWarning() {
  const { emitWarning } = process
  process.emitWarning = (warning, ...rest) => {
    if (rest[0] === 'ExperimentalWarning' && String(warning).startsWith('SQLite ')) return
    emitWarning.call(process, warning, ...rest)
  }
}
