import { fileURLToPath } from 'node:url'
import tailwindcss from '@tailwindcss/vite'
import react from '@vitejs/plugin-react'
import { defineConfig } from 'vite'

/** The built page lies in the server's package, where the server looks for it, in development and when published. */
export const builtConsole = fileURLToPath(new URL('../../packages/server/dist/console', import.meta.url))

export default defineConfig({
  root: import.meta.dirname,
  plugins: [react(), tailwindcss()],
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
  },
  server: { proxy: { '/api': { target: 'http://127.0.0.1:4747', ws: true } } },
})
