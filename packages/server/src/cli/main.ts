#!/usr/bin/env node
import { enableCompileCache } from 'node:module'

enableCompileCache()
const { runProgram } = await import('./program.ts')
await runProgram(process)
