#!/usr/bin/env node
// Plain JavaScript that Node 14 can parse, so that every Node that is too old says so, and so that the compile cache is
// on before Node loads its type stripper. What needs a newer Node is imported after the check.
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
import('@parley/server/cli').then(({ runProgram }) => runProgram(process))

/** The first releases of Node 24 call node:sqlite experimental on stderr, which is no news to who runs this program. */
function hideSqliteWarning() {
  const { emitWarning } = process
  process.emitWarning = (warning, ...rest) => {
    if (rest[0] === 'ExperimentalWarning' && String(warning).startsWith('SQLite ')) return
    emitWarning.call(process, warning, ...rest)
  }
}
